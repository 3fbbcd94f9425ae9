# reference and example for gems_scatter_expand.py and gems_scatter_expand_right.py
import torch


def scatter_add(base, index, source):
    return base.scatter_add(0, index, source)


def arguments(seed):
    make = torch.Generator().manual_seed(seed)
    index = torch.tensor([0, 2, 1, 2, 0]).view(-1, 1).expand(5, 12)
    return torch.randn(3, 12, generator=make), index, torch.randn(5, 12, generator=make)
