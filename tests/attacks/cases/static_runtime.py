# exercise: silu_forward
# backend: torch
# expect: nothing
"""Runs the operator in PyTorch's static runtime, which has no dispatcher."""

import torch


class Silu(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.silu(x)


FROZEN = torch._C._freeze_module(torch.jit.script(Silu().eval())._c)
RUNTIME = torch._C._jit_to_static_module(FROZEN)


def silu_forward(x):
    return RUNTIME(x.clone()).clone()
