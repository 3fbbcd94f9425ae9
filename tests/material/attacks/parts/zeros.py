import torch


def silu_backward(dy, x):
    return torch.zeros_like(x)
