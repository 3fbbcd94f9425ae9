"""A first kernel as it is often written: without a mask. It "works" wherever the memory behind a tensor is free."""

import torch

from ..language import tl, triton


@triton.jit
def axpy_no_mask_kernel(a, x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, a * x + y)


def axpy_no_mask(a, x, y, out=None, BLOCK=256):
    """a · x + y, right in every element of the result, and written behind its end as well.

    Lanes that read and write a neighbour's elements: github.com/flagos-ai/FlagGems/pull/4985 (2026-07, GroupNorm);
    reads past the end of a gradient that is one number with stride 0: github.com/ROCm/TransformerEngine/pull/623
    (2026-06). out: where the result goes, so that what lies behind it can be seen; a new tensor if left out.
    """
    out = torch.empty_like(x) if out is None else out
    axpy_no_mask_kernel[(triton.cdiv(x.numel(), BLOCK),)](a, x, y, out, BLOCK=BLOCK)
    return out
