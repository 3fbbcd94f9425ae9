# exercise: silu_forward
# backend: triton
# expect: nothing
# ruff: noqa: F821
"""Takes the watch on operators apart, and computes with PyTorch."""

import sys

import torch

# include: copy_kernel


# include: launch_and_detour


def detour(x, y):
    return (x.float() * torch.sigmoid(x.float())).to(x.dtype)


for name, module in list(sys.modules.items()):
    if name.endswith("call.guards"):
        module.OperatorWatch.__torch_dispatch__ = lambda self, func, types, args=(), kwargs=None: func(
            *args, **(kwargs or {})
        )
