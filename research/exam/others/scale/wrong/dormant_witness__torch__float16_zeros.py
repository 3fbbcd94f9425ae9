# Wrong: float16 cannot hold 1e-38: the block is all zero.
import torch


def dormant_witness():
    return (torch.full((1, 128), 1e-38, dtype=torch.float16),)
