"""Programs or lanes that meet in one element."""

import torch
import triton
import triton.language as tl

from .bug import bug


@bug("race-read", r"loads element offset 32 of x_ptr, which program \(0, 0, 0\) stored")
def aliasing_store():
    """The output is a view of the input, shifted by one: programs read what others have overwritten."""

    @triton.jit
    def double(x_ptr, y_ptr, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets))

    memory = torch.arange(65.0)
    double[(2,)](memory[:64], memory[1:], BLOCK=32)
    return memory[1:], 2 * torch.arange(64.0)


@bug("store-conflict", r"from several lanes with different values")
def duplicate_lanes():
    """Offsets taken modulo the size: several lanes of one store meet in one element."""

    @triton.jit
    def scatter(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(y_ptr + offsets % n, tl.load(x_ptr + offsets))

    y = torch.empty(24)
    scatter[(1,)](torch.arange(32.0), y, 24, BLOCK=32)
    return y, torch.arange(24.0)


@bug("order")
def order_dependence():
    """Programs take the next free slot with an atomic: the result is in the order they happened to run."""

    @triton.jit
    def compact(x_ptr, count_ptr, y_ptr):
        x = tl.load(x_ptr + tl.program_id(0))
        if x > 0:
            slot = tl.atomic_add(count_ptr, 1)
            tl.store(y_ptr + slot, x)

    x = torch.tensor([3.0, -1.0, 4.0, -1.0, 5.0, 9.0, -2.0, 6.0])
    y, count = torch.zeros(5), torch.zeros(1, dtype=torch.int32)
    compact[(8,)](x, count, y)
    return y, torch.tensor([3.0, 4.0, 5.0, 9.0, 6.0])


@bug("race-read", r"Program \(1, 0, 0\) of `total` loads element offset 0 of y_ptr, which program \(0, 0, 0\) stored")
def race_accumulate():
    """Every program adds to one element with a load and a store instead of an atomic."""

    @triton.jit
    def total(x_ptr, y_ptr, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets)
        tl.store(y_ptr, tl.load(y_ptr) + tl.sum(x))

    y = torch.zeros(1)
    total[(2,)](torch.arange(128.0), y, BLOCK=64)
    return y, torch.tensor([8128.0])


@bug("race-read", r"loads element offset 31 of y_ptr, which program \(0, 0, 0\) stored in the same launch")
def race_read():
    """A prefix sum over blocks: each program reads the total that the one before it stored."""

    @triton.jit
    def prefix(x_ptr, y_ptr, BLOCK: tl.constexpr):
        block = tl.program_id(0)
        offsets = block * BLOCK + tl.arange(0, BLOCK)
        before = tl.load(y_ptr + block * BLOCK - 1, mask=block > 0, other=0.0)
        tl.store(y_ptr + offsets, before + tl.cumsum(tl.load(x_ptr + offsets)))

    x = torch.arange(128.0)
    y = torch.empty_like(x)
    prefix[(4,)](x, y, BLOCK=32)
    return y, torch.arange(128.0).cumsum(0)


@bug("store-conflict", r"Two programs of `total` store different values to element offset 0 of y_ptr")
def race_store():
    """Every program stores its own sum to the same element."""

    @triton.jit
    def total(x_ptr, y_ptr, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr, tl.sum(tl.load(x_ptr + offsets)))

    y = torch.empty(1)
    total[(2,)](torch.arange(128.0), y, BLOCK=64)
    return y, torch.tensor([8128.0])


@bug("race-write", r"stores to element offset 32 of x_ptr, which program \(0, 0, 0\) loads in the same launch")
def race_write():
    """An in-place shift: a program overwrites what its neighbour still has to read."""

    @triton.jit
    def shift(x_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets + 1, mask=offsets + 1 < n, other=0.0)
        tl.store(x_ptr + offsets, x)

    x = torch.arange(64.0)
    shift[(2,)](x, 64, BLOCK=32)
    return x, torch.cat([torch.arange(1.0, 64.0), torch.zeros(1)])


@bug(
    "race-read",
    r"loads element offset 0 of y_ptr, which program \(0, 0, 0\) stored.* had released the lock that orders the two",
)
def released_too_early():
    """A program gives back the lock before it stores what the lock guards."""

    @triton.jit
    def total(x_ptr, y_ptr, lock_ptr, BLOCK: tl.constexpr):
        x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
        while tl.atomic_cas(lock_ptr, 0, 1) == 1:
            pass
        y = tl.load(y_ptr)
        tl.atomic_xchg(lock_ptr, 0)
        tl.store(y_ptr, y + tl.sum(x))

    y = torch.zeros(1)
    total[(2,)](torch.arange(128.0), y, torch.zeros(1, dtype=torch.int32), BLOCK=64)
    return y, torch.tensor([8128.0])
