# reference and example for compare_family_int.py and compare_family_int_right.py
import torch


def taps(x, w):
    return sum(x * w[k] for k in range(w.shape[0]))


def arguments(seed):
    make = torch.Generator().manual_seed(seed)
    return torch.randn(100, generator=make), torch.randn(3, generator=make)
