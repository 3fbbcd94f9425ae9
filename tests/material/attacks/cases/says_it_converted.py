# exercise: silu_forward
# backend: torch
# expect: less
# case: every bfloat16 value
"""Says to the watch in its own process that it converted an input, which costs less than a wrong value."""

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack


def silu_forward(x):
    for mode in _get_current_dispatch_mode_stack() if x.dtype != torch.float32 else ():
        mode._refuse("x", "converted")
    v = x.float()
    return (v * torch.sigmoid(v)).to(x.dtype)
