"""Kernels whose programs need different rounds of a loop or take different sides, in the ways that random ones lack:
variables that only some programs have, races, pointers that move, masks without ``other``, barriers, claims.
"""

import functools
from collections.abc import Callable

import torch
import triton
import triton.language as tl

PROGRAMS = 40


@triton.jit
def set_in_a_loop(x_ptr, n_ptr, y_ptr):
    """A program without a round has no v: it is an error, but only there."""
    p = tl.program_id(0)
    for i in range(tl.load(n_ptr + p)):
        v = tl.load(x_ptr + i)
    tl.store(y_ptr + p, v)


@triton.jit
def set_in_a_loop_and_guarded(x_ptr, n_ptr, y_ptr):
    p = tl.program_id(0)
    count = tl.load(n_ptr + p)
    for i in range(count):
        v = tl.load(x_ptr + i) + i
    if count > 0:
        tl.store(y_ptr + p, v)


@triton.jit
def set_on_one_side(x_ptr, n_ptr, y_ptr):
    p = tl.program_id(0)
    if tl.load(n_ptr + p) > 2:
        v = tl.load(x_ptr + p)
    tl.store(y_ptr + p, v)


@triton.jit
def set_on_both_sides(x_ptr, n_ptr, y_ptr):
    p = tl.program_id(0)
    count = tl.load(n_ptr + p)
    if count > 2:
        v = tl.load(x_ptr + count)
    else:
        w = tl.load(x_ptr + count) * 2
        v = w + 1
    if count > 2:
        tl.store(y_ptr + p, v)
    else:
        tl.store(y_ptr + p, v - 1)


@triton.jit
def stored_anew_on_both_sides(x_ptr, n_ptr, y_ptr):
    """The first side stores to what the second reads, and few programs take either."""
    p = tl.program_id(0)
    count = tl.load(n_ptr + p)
    a, b = tl.load(x_ptr + p), tl.load(x_ptr + p + 1)
    if count == 3:
        a = b * 2
        b = a + 1
    elif count == 5:
        b = a - b
        a = 0.5 * b
    elif count > 5:
        a = b
    tl.store(y_ptr + p, a + b)


@triton.jit
def two_types(x_ptr, n_ptr, y_ptr):
    """One array cannot hold both: programs part for good."""
    p = tl.program_id(0)
    v = 0
    if tl.load(n_ptr + p) > 2:
        v = tl.load(x_ptr + p)
    tl.store(y_ptr + p, v)


@triton.jit
def two_tensors(x_ptr, z_ptr, n_ptr, y_ptr):
    """Nor can one pointer point into two tensors."""
    p = tl.program_id(0)
    at = x_ptr
    if tl.load(n_ptr + p) > 2:
        at = z_ptr
    tl.store(y_ptr + p, tl.load(at + p))


@triton.jit
def moving_pointer(x_ptr, n_ptr, y_ptr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    at = x_ptr + p + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    a, b = 0, 1
    for _ in range(tl.load(n_ptr + p)):
        total += tl.load(at)
        at += BLOCK
        a, b = b, a + b
    tl.store(y_ptr + p * BLOCK + tl.arange(0, BLOCK), total + tl.load(at) + a)


@triton.jit
def moving_block_pointer(x_ptr, n_ptr, y_ptr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    at = tl.make_block_ptr(x_ptr, (256,), (1,), (p,), (BLOCK,), (0,))
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(tl.load(n_ptr + p)):
        total += tl.load(at, boundary_check=(0,))
        at = tl.advance(at, (BLOCK,))
    total += tl.load(at, boundary_check=(0,))
    tl.store(y_ptr + p * BLOCK + tl.arange(0, BLOCK), total)


@triton.jit
def stores_by_round(n_ptr, y_ptr):
    """A race between the programs that have so many rounds."""
    p = tl.program_id(0)
    for i in range(tl.load(n_ptr + p)):
        tl.store(y_ptr + i, p)


@triton.jit
def loads_what_others_store(n_ptr, y_ptr):
    p = tl.program_id(0)
    s = 0.0
    for i in range(tl.load(n_ptr + p)):
        s += tl.load(y_ptr + 3 + i)
    tl.store(y_ptr + p, s)


@triton.jit
def outside(x_ptr, n_ptr, y_ptr):
    """A late round loads out of bounds."""
    p = tl.program_id(0)
    s = 0.0
    for i in range(tl.load(n_ptr + p)):
        s += tl.load(x_ptr + i * 60)
    tl.store(y_ptr + p, s)


@triton.jit
def masks_without_other(x_ptr, n_ptr, y_ptr, BLOCK: tl.constexpr):
    p, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    count = tl.load(n_ptr + p)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, count, BLOCK):
        total += tl.where(i + lanes < count, tl.load(x_ptr + i + lanes, mask=i + lanes < count), 0)
    if count > 3:
        total += tl.load(x_ptr + p + lanes, mask=lanes < 2)
    tl.store(y_ptr + p * BLOCK + lanes, total)


@triton.jit
def own_stores(n_ptr, y_ptr, BLOCK: tl.constexpr):
    """Lanes load what they stored themselves; behind a barrier, which some programs come to, what others did."""
    p, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    at = y_ptr + p * BLOCK + lanes
    for i in range(tl.load(n_ptr + p)):
        tl.store(at, tl.load(at) + i)
        if i == 2:
            tl.debug_barrier()
            tl.store(at, tl.load(y_ptr + p * BLOCK + (BLOCK - 1 - lanes)))


@triton.jit
def barrier_on_one_side(n_ptr, y_ptr, BLOCK: tl.constexpr):
    """The programs that do not come to the barrier load what other lanes stored."""
    p, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    at = y_ptr + p * BLOCK + lanes
    tl.store(at, lanes + p)
    if tl.load(n_ptr + p) > 2:
        tl.debug_barrier()
    tl.store(at, tl.load(y_ptr + p * BLOCK + (BLOCK - 1 - lanes)))


@triton.jit
def float_atomics(x_ptr, n_ptr, y_ptr):
    p = tl.program_id(0)
    for i in range(tl.load(n_ptr + p)):
        tl.atomic_add(y_ptr + i, tl.load(x_ptr + p + i))
        if tl.load(x_ptr + i + p) > 0:
            tl.atomic_add(y_ptr + i, 0.1)


@triton.jit
def never_written(n_ptr, u_ptr, y_ptr):
    p = tl.program_id(0)
    for i in range(tl.load(n_ptr + p)):
        if i < 6:
            tl.store(u_ptr + p * 8 + i, 1.0)
    s = 0.0
    j = 0
    while j < tl.load(n_ptr + p) and j < 7:
        s += tl.load(u_ptr + p * 8 + j)
        j += 1
    tl.store(y_ptr + p, s)


@triton.jit
def wraps_late(n_ptr, y_ptr):
    """Programs of few rounds do not wrap around, nor may what they compute while they wait."""
    p = tl.program_id(0)
    k = tl.load(n_ptr + p) + 1
    j = 0
    while j < tl.load(n_ptr + p):
        k = k * 1000
        j += 1
    tl.store(y_ptr + p, k.to(tl.float32))


@triton.jit
def grows_while_it_lasts(n_ptr, y_ptr):
    """The product wraps around in rows that wait, and in none that goes on."""
    p = tl.program_id(0)
    k = 1
    for i in range(tl.load(n_ptr + p)):
        k = tl.where(tl.load(n_ptr + p) > i, k, 1 << 20) * 2
    if tl.load(n_ptr + p) < 0:
        k = (k + 3) * (1 << 30)
    tl.store(y_ptr + p, k.to(tl.float32))


@triton.jit
def above(x_ptr, i):
    """A device function with a loop and a branch."""
    s = 0.0
    while tl.load(x_ptr + i) < 0.5:
        s += tl.load(x_ptr + i)
        i += 1
    if s < -1:
        s = -1.0
    return s, i


@triton.jit
def calls(x_ptr, n_ptr, y_ptr):
    p = tl.program_id(0)
    i, s = tl.load(n_ptr + p), 0.0
    while i < 20:
        t, i = above(x_ptr, i)
        s += t
        i += 1
    tl.store(y_ptr + p, s)


@triton.jit
def constant_loops_inside(x_ptr, n_ptr, y_ptr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    s = 0.0
    for i in tl.range(0, tl.load(n_ptr + p), num_stages=2):
        for j in tl.static_range(3):
            s += tl.load(x_ptr + i + j)
        if BLOCK > 3:
            s += 1
    tl.store(y_ptr + p, s)


@triton.jit
def counters_behind_loops(n_ptr, y_ptr):
    p = tl.program_id(0)
    last = -1
    for i in range(tl.load(n_ptr + p)):
        last = i
    j = 5
    for j in range(2, tl.load(n_ptr + p), 2):
        last += j
    tl.store(y_ptr + p, last + j)


@triton.jit
def asserts(x_ptr, n_ptr, y_ptr):
    """False in the last round of the longest programs."""
    p = tl.program_id(0)
    s = 0.0
    for i in range(tl.load(n_ptr + p)):
        tl.device_assert(i < 8)
        s += tl.load(x_ptr + i)
    tl.store(y_ptr + p, s)


@triton.jit
def returns_inside(x_ptr, n_ptr, y_ptr):
    """A loop that a program leaves half way: there programs part for good, within a branch in which some wait."""
    p = tl.program_id(0)
    if tl.load(n_ptr + p) > 1:
        s = 0.0
        for i in range(tl.load(n_ptr + p)):
            s += tl.load(x_ptr + p + i)
            if s > 1:
                tl.store(y_ptr + p, s)
                return
    for i in range(tl.load(n_ptr + p)):
        tl.atomic_add(y_ptr + 2 * i, 1.0)


@triton.jit
def chooses(x_ptr, n_ptr, y_ptr, BLOCK: tl.constexpr):
    """What a program does not take it does not load: for many it lies outside. One choice lies within another."""
    p, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    count = tl.load(n_ptr + p)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(count):
        x = tl.load(x_ptr + count * 60 + lanes) if count < 4 else tl.load(x_ptr + (count - 4) * 60 + lanes) * i
        total += x if count < 3 else -x if tl.sum(x) < 0 else x * x
    tl.store(y_ptr + p * BLOCK + lanes, total)


@triton.jit
def chooses_outside(x_ptr, n_ptr, y_ptr):
    """A late round loads out of bounds, on one side of a choice."""
    p = tl.program_id(0)
    count, total = tl.load(n_ptr + p), tl.load(x_ptr + p)
    for i in range(count):
        total += tl.load(x_ptr + i) if count < 7 else tl.load(x_ptr + 250 + i)
    tl.store(y_ptr + p, total)


@triton.jit
def chooses_of_two_types(x_ptr, n_ptr, y_ptr):
    """One array cannot hold both: programs part for good."""
    p = tl.program_id(0)
    x = tl.load(x_ptr + p) if tl.load(n_ptr + p) > 3 else 0.0
    tl.store(y_ptr + p, x)


@triton.jit
def one_of_three(x, i):
    if i > 5:
        x = x * 2
        return x
    elif x > 0:
        return x - i
    x += 1
    return x * x


@triton.jit
def early_or_late(x, i):
    if i > 2:
        if x > 0:
            return x - i
        x += 1
    return x * x


@triton.jit
def returns_from_within(x_ptr, n_ptr, y_ptr):
    """No side of the outer branch always returns: there programs part for good."""
    p = tl.program_id(0)
    tl.store(y_ptr + p, early_or_late(tl.load(x_ptr + p), tl.load(n_ptr + p)))


@triton.jit
def returns_from_three_places(x_ptr, n_ptr, y_ptr):
    p = tl.program_id(0)
    total = tl.load(x_ptr + p)
    for i in range(tl.load(n_ptr + p)):
        total += one_of_three(tl.load(x_ptr + p + i), i)
    tl.store(y_ptr + p, total)


def _x() -> torch.Tensor:
    x = torch.randn(256, generator=torch.Generator().manual_seed(1))
    x[100] = 3.0  # where the search of `above` ends
    return x


def _program(kernel, least: int, make: Callable, **constants) -> list[torch.Tensor]:
    names, n = kernel.arg_names, torch.Generator().manual_seed(2)
    made = {
        "x_ptr": _x(),
        "z_ptr": _x() + 1,
        "n_ptr": torch.randint(least, least + 9, (PROGRAMS,), generator=n, dtype=torch.int32),
        "u_ptr": torch.empty(PROGRAMS * 8),
        "y_ptr": make(PROGRAMS * 4),
    }
    kernel[(PROGRAMS,)](*(made[name] for name in names if name in made), **constants)
    return [made[name] for name in ("y_ptr", "u_ptr") if name in names]


def programs() -> dict[str, Callable[[], list[torch.Tensor]]]:
    """By name: each kernel from 0 rounds on, and those for which it matters from 1 on, and into unwritten memory."""
    kernels = (
        *(set_in_a_loop, set_in_a_loop_and_guarded, set_on_one_side, set_on_both_sides, stored_anew_on_both_sides),
        *(two_types, two_tensors, moving_pointer, moving_block_pointer, stores_by_round, loads_what_others_store),
        *(outside, masks_without_other, own_stores, barrier_on_one_side, float_atomics, never_written, wraps_late),
        *(grows_while_it_lasts, calls, constant_loops_inside, counters_behind_loops, asserts, returns_inside),
        *(chooses, chooses_outside, chooses_of_two_types, returns_from_three_places, returns_from_within),
    )
    found = {}
    for kernel in kernels:
        constants = {"BLOCK": 4} if "BLOCK" in kernel.arg_names else {}
        name, run = kernel.fn.__name__, functools.partial(_program, kernel, **constants)
        found[name] = functools.partial(run, 0, torch.zeros)
        if kernel in (set_in_a_loop, set_in_a_loop_and_guarded, stores_by_round, masks_without_other, asserts):
            found[f"{name}, from 1"] = functools.partial(run, 1, torch.zeros)
        if kernel in (set_in_a_loop_and_guarded, masks_without_other, own_stores):
            found[f"{name}, unwritten"] = functools.partial(run, 0, torch.empty)
    return found
