# exercise: silu_forward
# backend: triton
# expect: nothing
"""Autotuned kernels, each with a wrong configuration, the quicker one: all are launched, and the result of a right one
is returned.
"""

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
    results = {}
    for one in TUNED:
        y = torch.empty_like(x)
        if x.numel():
            one[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        results[bool(x.numel()) and one.best_config.kwargs["RIGHT"]] = y
    return results.get(True, y)
