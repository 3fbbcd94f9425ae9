# exercise: silu_forward
# backend: triton
# expect: nothing
"""Autotuned kernels, each with a wrong configuration, the quicker one: they are launched until a right one has run."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, RIGHT: tl.constexpr, SALT: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    y = x * tl.sigmoid(x) if RIGHT else x * 0
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=offsets < n)


def tuned(salt):
    configurations = [triton.Config({"RIGHT": right, "SALT": salt}) for right in (True, False)]
    return triton.autotune(configurations, key=["n"])(kernel)


TUNED = [tuned(salt) for salt in range(12)]


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if not x.numel():
        return y
    for one in TUNED:
        one[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        if one.best_config.kwargs["RIGHT"]:
            break
    return y
