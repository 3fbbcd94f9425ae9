# Wrong: the largest is 1e-40, below the range that the contract gives.
import torch


def dormant_witness():
    return (torch.tensor([[1e-40, 5e-41]]),)
