# Right: a block of five, all of them negative, down to -1.2e-38.
import torch


def dormant_witness():
    return (torch.tensor([[-1.2e-38, -1.1e-38, -1e-39, -3e-39, -6e-39]]),)
