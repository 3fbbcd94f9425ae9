# exercise: silu_forward
# backend: triton
"""Two kernels, each for its half, with offsets into one tensor."""

import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def second_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (x / (1 + tl.exp(-x))).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = x.new_empty(x.shape)
    n, half = x.numel(), x.numel() // 2
    if half:
        silu_kernel[(triton.cdiv(half, 256), 1, 1)](x, y, half, BLOCK=256)
    if n:
        rest = n - half
        grid = (triton.cdiv(rest, 256), 1, 1)
        second_kernel[grid](x.view(-1)[half:], y.view(-1).narrow(0, half, rest), rest, BLOCK=256)
    return y
