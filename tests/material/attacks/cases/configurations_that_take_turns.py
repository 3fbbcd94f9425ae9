# exercise: silu_forward
# backend: triton
# expect: less
"""Two autotuned kernels whose quicker configuration stores nothing: one is right where the other is not, if the draw of
one told that of the other.
"""

import zlib

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, RIGHT: tl.constexpr, SALT: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if RIGHT:
        x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
        tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=offsets < n)


def first(salt):
    """Whether the right configuration comes first by the checksums of what they decide."""
    configurations = (triton.Config({"RIGHT": right, "SALT": salt}).all_kwargs() for right in (True, False))
    decided = [
        tuple((name, repr(value)) for name, value in given.items() if name not in ("num_warps", "num_stages"))
        for given in configurations
    ]
    right, wrong = (zlib.crc32(repr(values).encode()) for values in decided)
    return right < wrong


def tuned(salt):
    configurations = [triton.Config({"RIGHT": right, "SALT": salt}) for right in (True, False)]
    return triton.autotune(configurations, key=["n"])(kernel)


TUNED = [tuned(next(salt for salt in range(100) if first(salt) is right)) for right in (True, False)]


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    for one in TUNED if x.numel() else ():
        one[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
