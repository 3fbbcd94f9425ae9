# reference and example for compare_int8.py and compare_int8_right.py
import torch


def widen(q, s):
    return (q.to(s.dtype) - 3) * s[:, None]


def arguments(seed):
    make = torch.Generator().manual_seed(seed)
    return torch.randint(-100, 100, (3, 256), dtype=torch.int8, generator=make), torch.rand(3, generator=make)
