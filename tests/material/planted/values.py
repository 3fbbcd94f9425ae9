"""Kernels that end with another output, or with part of it."""

import torch
import triton
import triton.language as tl

from .bug import bug


@bug("wrong-value")
def and_on_blocks():
    """a and b on blocks: the interpreter keeps b alone; the compiler combines them. Here the bug is a wrong b."""

    @triton.jit
    def band(x_ptr, y_ptr, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets)
        inside = (x > 10) and (x < 6)
        tl.store(y_ptr + offsets, tl.where(inside, x, 0.0))

    y = torch.empty(8)
    band[(1,)](torch.arange(8.0), y, BLOCK=8)
    return y, torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0])


@bug("wrong-value")
def bf16_accumulator():
    """A sum kept in bfloat16 stops growing at 256."""

    @triton.jit
    def total(x_ptr, y_ptr, n):
        acc = tl.load(x_ptr)
        for i in range(1, n):
            acc += tl.load(x_ptr + i)
        tl.store(y_ptr, acc)

    y = torch.empty(1, dtype=torch.bfloat16)
    total[(1,)](torch.ones(300, dtype=torch.bfloat16), y, 300)
    return y, torch.tensor([300.0], dtype=torch.bfloat16)


@bug("wrong-value")
def dot_in_tf32():
    """A tl.dot of float32 without input_precision: a recent GPU multiplies 11 of 24 bits, and a difference shows it."""

    @triton.jit
    def matmul(a_ptr, b_ptr, c_ptr, M: tl.constexpr):
        i = tl.arange(0, M)
        at = i[:, None] * M + i[None, :]
        tl.store(c_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))

    a, b = torch.zeros(2, 16, 16)
    a[:, 0], a[:, 1], b[:2] = 1 + 2**-12, -1, 1
    c = torch.empty(16, 16)
    matmul[(1,)](a, b, c, M=16)
    return c, a @ b


@bug("unwritten", r"36 elements of the output \(100 in all\) were never written; the first is at index \(64,\)")
def grid_rounds_down():
    """A grid of n // BLOCK programs: the tail is never written."""

    @triton.jit
    def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)

    x = torch.arange(100.0)
    y = torch.empty_like(x)
    double[(100 // 64,)](x, y, 100, BLOCK=64)
    return y, 2 * torch.arange(100.0)


@bug("wrong-value")
def half_square_overflow():
    """Squares in float16 overflow at 256, before the sum is divided."""

    @triton.jit
    def mean_square(x_ptr, y_ptr, N: tl.constexpr):
        x = tl.load(x_ptr + tl.arange(0, N))
        tl.store(y_ptr, (tl.sum(x * x) / N).to(tl.float32))

    y = torch.empty(1)
    mean_square[(1,)](torch.full((16,), 300.0, dtype=torch.float16), y, N=16)
    return y, torch.tensor([90000.0])


@bug("unwritten", r"32 elements of the output \(256 in all\) were never written; the first is at index \(7, 0\)")
def last_row_unwritten():
    """A loop over rows that stops one early: the last row of the output keeps what was in memory."""

    @triton.jit
    def double(x_ptr, y_ptr, rows, N: tl.constexpr):
        columns = tl.arange(0, N)
        for row in range(rows - 1):
            tl.store(y_ptr + row * N + columns, 2 * tl.load(x_ptr + row * N + columns))

    x = torch.arange(256.0).reshape(8, 32)
    y = torch.empty_like(x)
    double[(1,)](x, y, 8, N=32)
    return y, 2 * torch.arange(256.0).reshape(8, 32)


@bug("wrong-value")
def padding_in_variance():
    """The padding lanes, loaded as 0, are counted in the variance: (0 - mean)^2 each."""

    @triton.jit
    def variance(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
        mean = tl.sum(x) / n
        tl.store(y_ptr, tl.sum((x - mean) * (x - mean)) / n)

    y = torch.empty(1)
    variance[(1,)](torch.arange(100.0), y, 100, BLOCK=128)
    return y, torch.tensor([833.25])


@bug("wrong-value")
def rows_for_columns():
    """The number of rows where the row's stride belongs: every row but the first comes from a wrong place."""

    @triton.jit
    def copy(x_ptr, y_ptr, rows, columns, BLOCK: tl.constexpr):
        row, i = tl.program_id(0), tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * rows + i, mask=i < columns)
        tl.store(y_ptr + row * columns + i, x, mask=i < columns)

    x = torch.arange(5.0 * 30).reshape(5, 30)
    y = torch.empty_like(x)
    copy[(5,)](x, y, 5, 30, BLOCK=32)
    return y, torch.arange(5.0 * 30).reshape(5, 30)


@bug("wrong-value")
def transposed_input():
    """The input is a transposed view: every offset is valid and every value in the wrong place."""

    @triton.jit
    def double(x_ptr, y_ptr, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets))

    x = torch.arange(32.0).reshape(4, 8).t()
    y = torch.empty(8, 4)
    double[(1,)](x, y, BLOCK=32)
    return y, 2 * torch.arange(32.0).reshape(4, 8).t()


@bug("uninitialised-read", r"does an atomic operation on element offset 0 of y_ptr, which has not been written")
def uninitialised_accumulator():
    """Atomics add to what torch.empty returned."""

    @triton.jit
    def total(x_ptr, y_ptr, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(y_ptr, tl.sum(tl.load(x_ptr + offsets)))

    y = torch.empty(1)
    total[(2,)](torch.arange(64.0), y, BLOCK=32)
    return y, torch.tensor([2016.0])


@bug("uninitialised-read", r"loads element offset 0 of y_ptr, which has not been written since `torch.empty` made it")
def uninitialised_read():
    """A running maximum that begins with what torch.empty returned."""

    @triton.jit
    def add_to(x_ptr, y_ptr, N: tl.constexpr):
        offsets = tl.arange(0, N)
        tl.store(y_ptr + offsets, tl.load(y_ptr + offsets) + tl.load(x_ptr + offsets))

    x = torch.arange(32.0)
    y = torch.empty_like(x)
    add_to[(1,)](x, y, N=32)
    return y, torch.arange(32.0)


@bug("wrong-value")
def wrong_other():
    """The maximum of negative numbers, padded with 0."""

    @triton.jit
    def largest(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(y_ptr, tl.max(tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)))

    y = torch.empty(1)
    largest[(1,)](-1 - torch.arange(100.0), y, 100, BLOCK=128)
    return y, torch.tensor([-1.0])
