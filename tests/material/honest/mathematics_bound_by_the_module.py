# exercise: silu_forward
# backend: triton
# ruff: noqa: F403, F405, F821
"""Functions of Triton's mathematics under names of the module: imported, unpacked, found by a loop, kept in a class."""

import torch
import triton
import triton.language as tl
import triton.language.extra.libdevice as device_library
from triton.language.extra import libdevice
from triton.language.extra.libdevice import *
from triton.language.math import abs as magnitude

exp, exp2 = libdevice.exp, tl.exp2

for name in ("maximum", "where"):
    globals()[f"tl_{name}"] = getattr(tl, name)


class Shim:
    minimum = tl.minimum


least = Shim.minimum
WIDE, TWO = tl.float32, tl.constexpr(sum((1, 1)))
LIMITS = tl.constexpr(tuple(float(n) for n in (0, 1000)))


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(WIDE)
    half = exp(-tl_maximum(least(magnitude(x), LIMITS[1]), LIMITS[0]) / TWO)
    e = pow(half, 2) * exp2(0.0) + tl.extra.libdevice.erf(0.0 * half) * device_library.expm1(0.0 * half)
    tl.store(y_ptr + offsets, (x * tl_where(x < 0, e, 1.0) / (1.0 + e)).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
