# Right: random rows around 1, in each block one element of 448 * 1.2 times a power of two near them.
import torch


def rounding_witness():
    g = torch.Generator().manual_seed(3)
    x = torch.rand(4, 64, generator=g) + 1.0
    x[:, 5] = 2.4
    x[:, 40] = 2.4
    return (x,)
