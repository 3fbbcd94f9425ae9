# exercise: silu_forward
# backend: triton
"""An object that launches, called through functools.partial, with type hints that are text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=mask)


@dataclass(frozen=True)
class Launcher:
    kernel: object
    block: int = 256

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        if x.numel():
            launch = partial(self.kernel[(triton.cdiv(x.numel(), self.block),)], x, y, BLOCK=self.block)
            launch(x.numel(), num_warps=4)
        return y


silu_forward = Launcher(silu_kernel)
