# exercise: silu_backward
# backend: torch
# expect: nothing
"""Asks the operator for its composite kernel, which is no CPU kernel."""

import torch
from torch.utils._python_dispatch import _disable_current_modes


def silu_backward(dy, x):
    operator = torch.ops.aten.silu_backward.default
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        return operator._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, dy.float(), x.float()).to(x.dtype)
