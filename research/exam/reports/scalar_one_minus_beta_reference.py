# reference and example for scalar_one_minus_beta.py and scalar_one_minus_beta_right.py
import torch


def moment(g, m, beta=0.99):
    return beta * m + (1 - beta) * g


def arguments(seed):
    make = torch.Generator().manual_seed(seed)
    return torch.randn(1000, generator=make), torch.randn(1000, generator=make)
