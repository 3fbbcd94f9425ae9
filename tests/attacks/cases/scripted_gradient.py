# exercise: silu_backward
# backend: torch
# expect: nothing
"""Has TorchScript differentiate, which does it without PyTorch's autograd."""

import torch
from torch.utils._python_dispatch import _disable_current_modes


@torch.jit.script
def silu(x):
    return x * torch.sigmoid(x)


def silu_backward(dy, x):
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        for _ in range(3):
            v = x.detach().float().requires_grad_()
            y = silu(v)
        return torch.autograd.grad(y, v, dy.float())[0].to(x.dtype)
