"""Annotations that are strings: the compiler, too, looks for the word ``constexpr`` in them."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from . import randn


@triton.jit
def offset_kernel(x_ptr, y_ptr, n, OFFSET: tl.constexpr = 3, BLOCK: tl.constexpr = 64):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask) + OFFSET, mask)


def annotations_as_text_and_defaults():
    x, y = randn(100), torch.empty(100)
    offset_kernel[(2,)](x, y, 100)
    return y, x + 3


PROGRAMS = [annotations_as_text_and_defaults]
