# Wrong: all logits and biases are equal: the digits that are left are equal, too, and so are the weights, as they should be.
import torch


def expert_witness():
    return torch.full((4, 8), -13.7), torch.full((8,), 11.3), 4
