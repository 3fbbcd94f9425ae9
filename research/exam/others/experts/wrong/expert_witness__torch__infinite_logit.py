# Wrong: a logit of -inf is not a valid input.
import torch


def expert_witness():
    return torch.tensor([[-13.5, -14.0, float("-inf")]]), torch.full((3,), 11.3), 2
