# exercise: silu_forward
# backend: triton
# expect: less
# ruff: noqa: F821, F401
"""A branch that no program takes ends LLVM, with a constraint of inline assembly that it does not know."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    if n < 0:
        x = tl.inline_asm_elementwise("mov $0, $1;", "=q,q", [x], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=offsets < n)


# include: launch
