# Wrong: the bias has the shape of the logits, not (E,).
import torch


def expert_witness():
    logits = torch.tensor([[-13.5, -14.0, -13.8], [-13.0, -14.2, -13.1]])
    return logits, torch.full((2, 3), 11.3), 2
