"""Python in a kernel: types of arguments, branches, loops, constants."""

import torch
import triton
import triton.language as tl

from . import randn


@triton.jit
def types_kernel(x_ptr, flags_ptr, out_ptr, eps, negate, none_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i).to(tl.float32)
    flags = tl.load(flags_ptr + i)
    y = tl.where(flags, x + eps, -x)
    if negate:
        y = -y
    if none_ptr is not None and not negate:
        y += tl.load(none_ptr + i)
    tl.store(out_ptr + i, y.to(out_ptr.dtype.element_ty))


def scalars_flags_and_none():
    x, flags = randn(64).to(torch.bfloat16), randn(64, seed=1) > 0
    out = torch.empty(64, dtype=torch.float16)
    types_kernel[(1,)](x, flags, out, 0.5, True, None, N=64)
    return out, -torch.where(flags, x.float() + 0.5, -x.float()).half()


@triton.jit
def guarded_kernel(x_ptr, out_ptr, n, FIRST: tl.constexpr):
    row = tl.program_id(0)
    if row >= n:
        return
    x = tl.load(x_ptr + row)
    if FIRST and x > 0:
        x = x * 2
    elif x < 0 or row == 3:
        x = -x
    while x > 1:
        x = x / 2
    tl.store(out_ptr + row, x)


def scalar_control_flow():
    x = torch.tensor([1.0, -2.0, 0.0, 3.0, 5.0])
    out = torch.empty(5)
    guarded_kernel[(8,)](x, out, 5, FIRST=True)
    return out, torch.tensor([1.0, 1.0, 0.0, 0.75, 0.625])


def a_kernel_inside_a_function():
    import triton.language as language

    three = language.constexpr(3)

    @triton.jit
    def twice(x):
        return 2 * x

    @triton.jit
    def inner_kernel(x_ptr, y_ptr, N: language.constexpr):
        i = language.arange(0, N)
        language.store(y_ptr + i, twice(language.load(x_ptr + i)) + three)

    x, y = randn(64), torch.empty(64)
    inner_kernel[(1,)](x, y, N=64)
    return y, 2 * x + 3


@triton.jit
def builtin_kernel(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    mask = i < n
    x = tl.load(x_ptr + i, mask)
    assert N >= 64, "too small"
    assert (i >= 0) & (i < N)
    tl.device_assert(x < 100, "too large", mask)
    tl.store(y_ptr + i, max(min(x, 1.0), -1.0) + min(N, 2), mask)


def assertions_and_minima_of_blocks():
    x, y = randn(50), torch.empty(50)
    builtin_kernel[(1,)](x, y, 50, N=64)
    return y, x.clamp(-1, 1) + 2


@triton.jit
def pair(x):
    return x, 2 * x


@triton.jit
def loops_kernel(x_ptr, y_ptr, rows, FLAG: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for row in tl.range(0, rows, num_stages=2):
        total += tl.load(x_ptr + row * N + i)
    for step in tl.static_range(3):
        total += step
    for down in range(rows - 1, -1, -1):
        total += down
    once, doubled = pair(total)
    both = (once, doubled)
    result = both[1] if FLAG else both[0]
    if not FLAG or (rows > 2 and rows < 9):
        result -= 10
    tl.store(y_ptr + i, result * 1 if rows != 3 else result * 0)


def loops_tuples_and_choices():
    x, y = randn(4, 64), torch.empty(64)
    loops_kernel[(1,)](x, y, 4, FLAG=True, N=64)
    return y, 2 * (x.sum(0) + 3 + 6) - 10


PROGRAMS = [
    scalars_flags_and_none,
    scalar_control_flow,
    a_kernel_inside_a_function,
    assertions_and_minima_of_blocks,
    loops_tuples_and_choices,
]
