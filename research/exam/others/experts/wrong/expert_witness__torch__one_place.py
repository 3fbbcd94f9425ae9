# Wrong: k is 1: the only weight is 1 whatever sigma is.
import torch


def expert_witness():
    return torch.tensor([[-13.5, -14.0, -40.0]]), torch.full((3,), 11.3), 1
