# Right: rows of 256 whose second block is of the order of 1e-37.
import torch


def dormant_witness():
    g = torch.Generator().manual_seed(5)
    x = torch.rand(3, 256, generator=g) + 0.5
    x[:, 128:] *= 1e-37
    return (x,)
