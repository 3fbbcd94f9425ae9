# exercise: silu_forward
# backend: triton
# expect: less
"""A wrong configuration, the quicker one, and an argument that decides which is drawn by shapes and numbers."""

import zlib

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"RIGHT": right}) for right in (True, False)], key=["n"])
@triton.jit
def kernel(x_ptr, y_ptr, n, salt, BLOCK: tl.constexpr, RIGHT: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    y = x * tl.sigmoid(x) if RIGHT else x * 0
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=offsets < n)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if not n:
        return y
    for salt in range(2, 100):
        given = [x.shape, y.shape, n, salt, None, None, 128]
        drawn = [zlib.crc32(repr((given, place)).encode()) for place in (0, 1)]
        if drawn[0] < drawn[1]:
            break
    kernel[(triton.cdiv(n, 128),)](x, y, n, salt, BLOCK=128)
    return y
