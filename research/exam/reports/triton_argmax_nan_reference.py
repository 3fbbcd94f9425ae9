# reference and example for triton_argmax_nan.py and triton_argmax_nan_right.py
import torch


def argmax(x):
    return torch.argmax(x, -1)


def arguments(seed):
    return (torch.randn(5, 28, generator=torch.Generator().manual_seed(seed)),)
