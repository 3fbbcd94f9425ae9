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


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def twice_plus(a, b):
    return 2 * a + b


@triton.jit
def folded_kernel(x, y, WRONG: tl.constexpr, N: tl.constexpr):
    values = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
    if WRONG:
        tl.store(y + tl.program_id(0), tl.reduce(values, 0, twice_plus))
    else:
        tl.store(y + tl.program_id(0), tl.reduce(values, 0, plus))


@pair("not-associative")
def a_reduction_by_a_function_of_our_own(wrong):
    """Wrong: it is not associative, so that the result depends on the compiler's tree."""
    x, y = torch.randn(3, 64, device="cuda"), torch.empty(3, device="cuda")
    folded_kernel[(3,)](x, y, WRONG=wrong, N=64)
    return y, x.sum(1)


@triton.jit
def scanned_kernel(x, y, WRONG: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    if WRONG:
        tl.store(y + i, tl.associative_scan(tl.load(x + i), 0, twice_plus))
    else:
        tl.store(y + i, tl.associative_scan(tl.load(x + i), 0, plus, reverse=True))


@pair("not-associative")
def a_scan_by_a_function_of_our_own(wrong):
    """Wrong: it is not associative."""
    x, y = torch.randn(32, device="cuda"), torch.empty(32, device="cuda")
    scanned_kernel[(1,)](x, y, WRONG=wrong, N=32)
    return y, x.flip(0).cumsum(0).flip(0)


@triton.jit
def grouped_kernel(x, y, groups, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i) + i // groups + i % groups)


@pair("division-by-zero")
def lanes_in_groups(wrong):
    """Wrong: there is no group."""
    x, y, i = torch.randn(32, device="cuda"), torch.empty(32, device="cuda"), torch.arange(32)
    grouped_kernel[(1,)](x, y, 0 if wrong else 5, N=32)
    return y, x.cpu() + i // 5 + i % 5


@triton.jit(do_not_specialize=["step"])
def stepping_kernel(x, y, step, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i * step) + step.to(tl.float32))


@triton.jit
def specialised_kernel(x, y, step, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i * step) + step.to(tl.float32))


@pair("kernel-error")
def a_stride_of_one(wrong):
    """Wrong: Triton compiles the 1 into the kernel, where it is a number of Python's and has no type."""
    x, y = torch.randn(32, device="cuda"), torch.empty(32, device="cuda")
    (specialised_kernel if wrong else stepping_kernel)[(1,)](x, y, 1, N=32)
    return y, x + 1
