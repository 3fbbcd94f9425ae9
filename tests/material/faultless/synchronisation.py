"""Programs that meet: partial results, atomics, locks, flags."""

import torch
import triton
import triton.language as tl

from . import randn


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.0)
    tl.store(out_ptr + row, tl.sum(acc, axis=0))


def loop_over_blocks():
    x = randn(6, 300)
    out = torch.empty(6)
    row_sum_kernel[(6,)](x, out, 300, BLOCK=64)
    return out, x.sum(1)


def two_launches():
    x = randn(6, 300)
    partial, out = torch.empty(6), torch.empty(1)
    row_sum_kernel[(6,)](x, partial, 300, BLOCK=64)
    row_sum_kernel[(1,)](partial, out, 6, BLOCK=64)
    return out, x.sum().reshape(1)


@triton.jit
def atomic_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + offsets, offsets < n, other=0.0)))


def atomic_sum():
    x, out = randn(1000), torch.zeros(1)
    atomic_kernel[(8,)](x, out, 1000, BLOCK=128)
    return out, x.sum().reshape(1)


@triton.jit
def histogram_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(out_ptr + x, 1, sem="relaxed")


def atomic_histogram():
    x = torch.randint(0, 10, (256,), generator=torch.Generator().manual_seed(0), dtype=torch.int32)
    out = torch.zeros(10, dtype=torch.int32)
    histogram_kernel[(4,)](x, out, BLOCK=64)
    return out, torch.bincount(x, minlength=10).int()


@triton.jit
def locked_kernel(x_ptr, out_ptr, lock_ptr, N: tl.constexpr):
    columns = tl.arange(0, N)
    x = tl.load(x_ptr + tl.program_id(0) * N + columns)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    count = tl.load(lock_ptr + 1)
    if count == 0:
        tl.atomic_xchg(lock_ptr + 1, 1)
    else:
        x += tl.load(out_ptr + columns)
    tl.store(out_ptr + columns, x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def sum_under_a_lock():
    x = randn(7, 32)
    out, lock = torch.empty(32), torch.zeros(2, dtype=torch.int32)
    locked_kernel[(7,)](x, out, lock, N=32)
    return out, x.sum(0)


@triton.jit
def last_block_kernel(x_ptr, partial_ptr, count_ptr, out_ptr, P: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    tl.store(partial_ptr + program, tl.sum(tl.load(x_ptr + program * BLOCK + tl.arange(0, BLOCK))))
    if tl.atomic_add(count_ptr, 1) == P - 1:
        tl.store(out_ptr, tl.sum(tl.load(partial_ptr + tl.arange(0, P))))


def the_last_program_sums_up():
    x = randn(8 * 64)
    out, count = torch.empty(1), torch.zeros(1, dtype=torch.int32)
    last_block_kernel[(8,)](x, torch.empty(8), count, out, P=8, BLOCK=64)
    return out, x.sum().reshape(1)


@triton.jit
def flag_kernel(x_ptr, flag_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    if tl.max(x) > 100:
        tl.store(flag_ptr, 1)


def every_program_may_raise_the_same_flag():
    x, flag = 200 * torch.ones(512), torch.zeros(1, dtype=torch.int32)
    flag_kernel[(4,)](x, flag, BLOCK=128)
    return flag, torch.ones(1, dtype=torch.int32)


@triton.jit
def refresh_kernel(flag_ptr, out_ptr):
    flag = tl.load(flag_ptr)
    tl.store(flag_ptr, flag)
    tl.store(out_ptr + tl.program_id(0), flag)


def a_store_that_changes_nothing_may_be_read():
    flag, out = torch.ones(1), torch.empty(4)
    refresh_kernel[(4,)](flag, out)
    return out, torch.ones(4)


PROGRAMS = [
    loop_over_blocks,
    two_launches,
    atomic_sum,
    atomic_histogram,
    sum_under_a_lock,
    the_last_program_sums_up,
    every_program_may_raise_the_same_flag,
    a_store_that_changes_nothing_may_be_read,
]
