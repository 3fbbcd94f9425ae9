"""Programs that meet: flags, counters, locks, and who writes what."""

import torch
import triton
import triton.language as tl

from .pair import pair


@triton.jit
def last_kernel(x, parts, count, y, SEM: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    tl.store(parts + p, tl.sum(tl.load(x + p * BLOCK + tl.arange(0, BLOCK))))
    if tl.atomic_add(count, 1, sem=SEM) == P - 1:
        tl.debug_barrier()
        tl.store(y, tl.sum(tl.load(parts + tl.arange(0, P))))


@pair("race-read")
def the_last_program_adds_up(wrong):
    """Wrong: the counter is relaxed, so that the parts need not be there yet."""
    x, parts, y = torch.randn(64, device="cuda"), torch.zeros(4, device="cuda"), torch.empty(1, device="cuda")
    count = torch.zeros(1, dtype=torch.int32, device="cuda")
    last_kernel[(4,)](x, parts, count, y, SEM="relaxed" if wrong else "acq_rel", P=4, BLOCK=16)
    return y, x.sum().view(1)


@triton.jit
def parts_kernel(x, parts, count, y, BARRIER: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(parts + tl.program_id(0) * BLOCK + i, 2 * tl.load(x + tl.program_id(0) * BLOCK + i))
    if BARRIER:
        tl.debug_barrier()
    if tl.atomic_add(count, 1) == P - 1:
        total = tl.zeros((BLOCK,), tl.float32)
        for p in range(P):
            total += tl.load(parts + p * BLOCK + i)
        tl.store(y + i, total)


@pair("race-read")
def blocks_that_are_counted(wrong):
    """The last program adds up blocks. Wrong: one thread counts while other warps may still be storing."""
    x, parts, y = (torch.randn(4, 64, device="cuda") for _ in range(3))
    count = torch.zeros(1, dtype=torch.int32, device="cuda")
    parts_kernel[(4,)](x, parts, count, y, BARRIER=not wrong, P=4, BLOCK=64)
    return y[0], 2 * x.sum(0)


@triton.jit
def total_kernel(x, y, SCOPE: tl.constexpr, BLOCK: tl.constexpr):
    values = tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(y, tl.sum(values), scope=SCOPE)


@pair("store-conflict")
def an_atomic_and_its_scope(wrong):
    """Wrong: it is one for the threads of a program alone."""
    x, y = torch.randn(64, device="cuda"), torch.zeros(1, device="cuda")
    total_kernel[(4,)](x, y, SCOPE="cta" if wrong else "gpu", BLOCK=16)
    return y, x.sum().view(1)


@triton.jit
def chain_kernel(x, total, flag, SEM: tl.constexpr):
    p = tl.program_id(0)
    tl.atomic_poll(flag + p, 1, sem="acquire" if SEM == "release" else "relaxed")
    before = tl.load(total + p)
    tl.store(total + p + 1, before + tl.load(x + p))
    tl.atomic_store(flag + p + 1, 1, sem=SEM)


@pair("race-read", "" if hasattr(tl, "atomic_poll") else "tl.atomic_poll, which 3.9 added")
def flags_that_are_polled(wrong):
    """A running sum, in which each program waits for the one before. Wrong: flag and poll are relaxed."""
    x, total = torch.randn(5, device="cuda"), torch.zeros(6, device="cuda")
    flag = torch.zeros(6, dtype=torch.int32, device="cuda")
    flag[0] = 1
    chain_kernel[(5,)](x, total, flag, SEM="relaxed" if wrong else "release")
    return total[1:], x.cumsum(0)


@triton.jit
def dropped_kernel(y, seed, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b, c, d = tl.rand4x(seed, i)
    tl.store(y + 4 * i, (a < 0.5).to(tl.float32))
    tl.store(y + 4 * i + 1, (b < 0.5).to(tl.float32))
    tl.store(y + 4 * i + 2, (c < 0.5).to(tl.float32))
    tl.store(y + 4 * i + (2 if WRONG else 3), (d < 0.5).to(tl.float32))


@pair("unwritten")
def four_random_numbers_at_once(wrong):
    """Wrong: the fourth is stored where the third is."""
    y, again = torch.empty(512, device="cuda"), torch.empty(512, device="cuda")
    for out in (y, again):
        dropped_kernel[(4,)](out, 7, WRONG=wrong, BLOCK=32)
    kept = y.mean().item()
    assert wrong or 0.4 < kept < 0.6, kept
    return y, again


@triton.jit
def grouped_kernel(a, b, y, m, n, GROUP: tl.constexpr, WRONG: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    p, down, across = tl.program_id(0), tl.cdiv(m, BLOCK), tl.cdiv(n, BLOCK)
    first = p // (GROUP * across) * GROUP
    high = GROUP if WRONG else min(down - first, GROUP)
    rows = (first + p % (GROUP * across) % high) * BLOCK + tl.arange(0, BLOCK)
    columns = p % (GROUP * across) // high * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, K)
    left = tl.load(a + rows[:, None] * K + k[None, :], mask=rows[:, None] < m, other=0.0)
    right = tl.load(b + k[:, None] * n + columns[None, :], mask=columns[None, :] < n, other=0.0)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(y + rows[:, None] * n + columns[None, :], tl.dot(left, right, input_precision="ieee"), mask=inside)


@pair("unwritten")
def tiles_in_groups(wrong):
    """A matrix product. Wrong: the last group is taken to be as high as the others."""
    a, b = torch.randn(48, 16, device="cuda"), torch.randn(16, 48, device="cuda")
    y = torch.empty(48, 48, device="cuda")
    grouped_kernel[(9,)](a, b, y, 48, 48, GROUP=2, WRONG=wrong, K=16, BLOCK=16)
    return y * 1, a @ b


@triton.jit
def looked_up_kernel(x, at, y, WRONG: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    places = tl.load(at + i)
    places = places if WRONG else tl.minimum(places, N - 1)
    tl.store(y + i, tl.gather(tl.load(x + i), places, 0))


@pair("gathered-outside")
def a_gather(wrong):
    """Wrong: an index is outside the block."""
    x, at, y = torch.randn(16, device="cuda"), torch.arange(2, 18, device="cuda"), torch.empty(16, device="cuda")
    looked_up_kernel[(1,)](x, at, y, WRONG=wrong, N=16)
    return y, x.cpu()[at.cpu().clamp(max=15)]
