# reference and example for sglang_k_tile.py and sglang_k_tile_right.py
import torch


def product(a, b, scales):
    wide = scales.repeat_interleave(32, 1)[:, : a.shape[1]]
    return ((a * wide) @ b).to(torch.promote_types(a.dtype, torch.float32))


def arguments(seed, size=1.0):
    make = torch.Generator().manual_seed(seed)
    return torch.randn(8, 128, generator=make), torch.randn(128, 24, generator=make), torch.rand(8, 4, generator=make)
