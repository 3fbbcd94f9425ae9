# Right: logits in bfloat16, which are finite and valid, and a bias of 11.
import torch


def expert_witness():
    logits = torch.tensor([[-13.0, -13.5, -12.5, -30.0]], dtype=torch.bfloat16)
    return logits, torch.full((4,), 11.0), 3
