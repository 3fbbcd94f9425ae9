# reference and example for xpu_upsample_square.py and xpu_upsample_square_right.py
import torch


def resize(x):
    return torch.nn.functional.interpolate(x[None], scale_factor=2, mode="nearest")[0]


def arguments(seed):
    return (torch.randn(3, 8, 8, generator=torch.Generator().manual_seed(seed)),)
