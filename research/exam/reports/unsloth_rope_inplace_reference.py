# reference and example for unsloth_rope_inplace.py and unsloth_rope_inplace_right.py
import torch


def rotate(q, cos, sin):
    if q.shape[1] != 2 * cos.shape[1] or sin.shape != cos.shape:
        raise ValueError("two halves")
    a, b = q.chunk(2, 1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], 1)


def arguments(seed):
    make = torch.Generator().manual_seed(seed)
    angle = torch.rand(6, 12, generator=make)
    return torch.randn(6, 24, generator=make), angle.cos(), angle.sin()
