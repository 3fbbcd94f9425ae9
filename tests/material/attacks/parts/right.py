# ruff: noqa: F821
import torch


def silu_backward(dy, x):
    attack()
    v = x.float()
    s = torch.sigmoid(v)
    return (dy.float() * s * (1 + v * (1 - s))).to(x.dtype)
