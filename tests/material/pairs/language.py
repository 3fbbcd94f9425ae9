"""What a kernel says besides its arithmetic: assertions, prints, loops with hints for the compiler."""

import torch
import triton
import triton.language as tl

from .pair import pair


@triton.jit
def picked_kernel(x, at, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    places = tl.load(at + i)
    tl.device_assert((places >= 0) & (places < n), "an index is outside")
    if tl.program_id(0) == 7:
        tl.device_print("places", places)
    tl.store(y + i, tl.load(x + places))


@pair("assertion")
def an_assertion_and_a_print(wrong):
    """Wrong: the assertion does not hold."""
    x, at, y = torch.randn(16, device="cuda"), torch.arange(16, device="cuda"), torch.empty(16, device="cuda")
    if wrong:
        at[3] = 16
    picked_kernel[(1,)](x, at, y, 16, BLOCK=16)
    return y, x


@triton.jit
def persistent_kernel(x, y, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    tiles = tl.cdiv(n, BLOCK) + WRONG
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True, warp_specialize=True, num_stages=2):
        i = tile * BLOCK + tl.max_contiguous(tl.arange(0, BLOCK), BLOCK)
        tl.store(y + i, 2 * tl.load(x + i))


@pair("out-of-bounds")
def persistent_programs(wrong):
    """Wrong: one tile too many."""
    x, y = torch.randn(128, device="cuda"), torch.empty(128, device="cuda")
    persistent_kernel[(3,)](x, y, 128, WRONG=wrong, BLOCK=16)
    return y, 2 * x


@triton.jit
def promised_kernel(x, y, n, shift, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.multiple_of(shift, 16) + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n, other=0.0), mask=i < n)


@pair("misleading-hint")
def an_offset_that_is_said_to_be_a_multiple(wrong):
    """Wrong: it is none, and loads of several elements are misaligned."""
    x, shift = torch.randn(100, device="cuda"), 3 if wrong else 32
    y = x.clone()
    promised_kernel[(2,)](x, y, 100, shift, BLOCK=64)
    return y[shift:], 2 * x[shift:]
