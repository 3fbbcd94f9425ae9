"""Kernels whose programs part ways, meet in atomics, or hold shapes that are easy to get wrong for many programs."""

import torch
import triton
import triton.language as tl


@triton.jit
def collatz(x_ptr, y_ptr):
    """A while loop of another length in every program."""
    p = tl.program_id(0)
    x = tl.load(x_ptr + p)
    steps = 0
    while x != 1:
        x = tl.where(x % 2 == 0, x // 2, 3 * x + 1)
        steps += 1
    tl.store(y_ptr + p, steps)


@triton.jit
def triangle(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """`range` of a value that differs: every program is a group of its own."""
    p = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(p + 1):
        total += tl.load(x_ptr + i * BLOCK + tl.arange(0, BLOCK))
    tl.store(y_ptr + p * BLOCK + tl.arange(0, BLOCK), total)


@triton.jit
def in_place(x_ptr, BLOCK: tl.constexpr):
    """Stores in place, then parts: without taking the store back, the second start would double twice."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at) * 2
    tl.store(x_ptr + at, x)
    if tl.sum(x) > 0:
        tl.store(x_ptr + at, x + 1)
        return
    tl.store(x_ptr + at, -tl.load(x_ptr + at))


@triton.jit
def far_apart(x_ptr, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    """As `in_place`, at elements far apart: what is between them is nobody's."""
    at = tl.program_id(0) + STRIDE * tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at) * 2 + 1
    tl.store(x_ptr + at, x)
    if tl.sum(x) % 3 == 0:
        return
    tl.store(x_ptr + at, -x)


@triton.jit
def sign(x):
    if x > 0:
        return 1.0
    if x < 0:
        return -1.0
    return 0.0


@triton.jit
def three_ways(x_ptr, y_ptr):
    """A device function that returns early, in three groups."""
    p = tl.program_id(0)
    tl.store(y_ptr + p, sign(tl.load(x_ptr + p)))


@triton.jit
def garbage(x_ptr, index_ptr, y_ptr, n):
    """The groups that wait hold an index out of bounds, which the group that goes on must not trip over."""
    p = tl.program_id(0)
    at = tl.load(index_ptr + p)
    if at < 0:
        tl.store(y_ptr + p, -1.0)
        return
    assert at < n
    tl.device_assert(at >= 0)
    tl.store(y_ptr + p, tl.load(x_ptr + at))


@triton.jit
def count(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """Atomics into few elements, nobody asks for the old values."""
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(y_ptr + x, 1.0)


@triton.jit
def count_some(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """The programs part after an atomic."""
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(y_ptr + x, 1.0)
    if tl.sum(x) % 2 == 0:
        tl.atomic_add(y_ptr, 100.0)


@triton.jit
def own_rows(x_ptr, y_ptr, rows, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Each program adds rows of its own, the last one fewer, and some of them squared: sums of floats, in an order."""
    first, lanes = tl.program_id(0) * ROWS, tl.arange(0, BLOCK)
    for row in range(first, min(first + ROWS, rows)):
        x = tl.load(x_ptr + row * BLOCK + lanes)
        tl.atomic_add(y_ptr + lanes, x, mask=x > -2)
        if row % 3 == 0:
            tl.atomic_add(y_ptr + lanes, x * x)


@triton.jit
def atomics(x_ptr, y_ptr, f_ptr, BLOCK: tl.constexpr):
    """Every atomic without an order, on integers, and on floats by way of their bits; one under a mask that differs."""
    p = tl.program_id(0)
    x = tl.load(x_ptr + p * BLOCK + tl.arange(0, BLOCK))
    at = y_ptr + tl.arange(0, BLOCK)
    tl.atomic_max(at, x)
    tl.atomic_min(at + BLOCK, x)
    tl.atomic_and(at + 2 * BLOCK, x)
    tl.atomic_or(at + 3 * BLOCK, x)
    tl.atomic_xor(at + 4 * BLOCK, x, mask=x > p % 5)
    tl.atomic_max(f_ptr + x, x.to(tl.float32) - p % 3)
    tl.atomic_min(f_ptr + 8 + x, x.to(tl.float32) - p % 3)


@triton.jit
def atomics_of_two_kinds(y_ptr):
    """Each program adds and cuts off: all additions before the first cut would be another order of the programs."""
    p = tl.program_id(0)
    tl.atomic_add(y_ptr, p)
    tl.atomic_min(y_ptr, 10)


@triton.jit
def bound(x_ptr, i, n):
    """A device function with a loop."""
    while i < n:
        if tl.load(x_ptr + i) > 3:
            i = n
        i += 1
    return i


@triton.jit
def search(x_ptr, y_ptr, n):
    p = tl.program_id(0)
    tl.store(y_ptr + p, bound(x_ptr, p, n))


@triton.jit
def one_program_stores(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """Every program computes, a mask lets one of them store."""
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x, mask=(at >= 0) & (tl.program_id(0) == 3))


@triton.jit
def shapes(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr):
    """Reductions over both axes, keep_dims, argmax, scan, transposition, reshape, join, sort, flip."""
    p = tl.program_id(0)
    rows, cols = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + p * M * N + rows * N + cols)
    out = y_ptr + p * 10 * M * N + rows * N + cols
    tl.store(out, x - tl.max(x, axis=1, keep_dims=True))
    tl.store(out + M * N, x - tl.sum(x, axis=0)[None, :])
    tl.store(out + 2 * M * N, tl.cumsum(x, axis=1))
    tl.store(out + 3 * M * N, tl.trans(tl.reshape(x, (N, M))))
    tl.store(out + 4 * M * N, x.T.reshape((M, N)))
    tl.store(out + 5 * M * N, x + tl.argmax(x, axis=1)[:, None] + tl.argmin(x, axis=0)[None, :])
    tl.store(out + 6 * M * N, tl.sort(x, dim=1))
    low, high = tl.split(tl.reshape(x, (M, N // 2, 2)))
    tl.store(out + 7 * M * N, tl.reshape(tl.join(high, low), (M, N)) - tl.sum(x) * tl.max(x))
    tl.store(
        out + 8 * M * N, tl.gather(x, tl.broadcast_to((cols + p) % N, (M, N)), 1) + tl.xor_sum(p + cols, 1)[:, None]
    )
    bins = tl.histogram((tl.abs(tl.reshape(x, (M * N,))) * 4).to(tl.int32) % 16, 16)
    tl.store(out + 9 * M * N, x + tl.broadcast_to(bins[None, :], (M, N)) + tl.sum(x, keep_dims=True))


@triton.jit
def sums(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr, A: tl.constexpr, B: tl.constexpr):
    """Sums of blocks in whatever order numpy lays them out: transposed, outer products, uniform and not, halves."""
    p = tl.program_id(0)
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + p * A * M * N + rows[:, None] * N + cols[None, :])
    a = tl.load(x_ptr + p * A * N + rows)
    b = tl.load(x_ptr + p * B * N + cols)
    outer = a[:, None] * b[None, :]
    out = y_ptr + p * 16
    tl.store(out, tl.sum(tl.sum(x.T, 0) * a))
    tl.store(out + 1, tl.sum(tl.sum(x.T, 1) * b))
    tl.store(out + 2, tl.sum(tl.sum(outer, 0) * b))
    tl.store(out + 3, tl.sum(tl.sum(outer, 1) * a))
    tl.store(out + 4, tl.sum(tl.trans(outer) * tl.trans(x)))
    tl.store(out + 5, tl.sum(tl.sum((outer * x).to(tl.float16).to(tl.float32), 0)))
    tl.store(out + 6, tl.sum(tl.sum(tl.reshape(outer, (N, M)), 1) * b))
    tl.store(out + 7, tl.sum(tl.dot(x, x.T, input_precision="ieee")))
    tl.store(out + 8, tl.sum(tl.dot(outer.T, x, input_precision="ieee")))
    cube = tl.reshape(outer, (M, 4, N // 4)) + a[:, None, None]
    tl.store(out + 9, tl.sum(tl.sum(tl.sum(cube, 1), 1) * a))
    tl.store(out + 10, tl.sum(tl.sum(tl.sum(tl.permute(cube, (2, 0, 1)), 1), 0)))
    tl.store(out + 11, tl.sum(tl.exp(tl.broadcast_to(b[None, :], (M, N)).to(tl.float16).to(tl.float32).T)))
    tl.store(out + 12, tl.sum(tl.sum(tl.broadcast_to(b[None, :], (M, N)) * 1.5, 0)))


def _randn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def _ints(low, high, *shape, dtype=torch.int32):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(high), dtype=dtype)


def _into(start, launch):
    """A program that hands ``launch`` a copy of ``start`` and returns it."""

    def program():
        y = start.clone()
        launch(y)
        return y

    return program


def _atomics():
    y, f = torch.full((5, 16), 3, dtype=torch.int32), torch.zeros(16)
    atomics[(70,)](_ints(0, 8, 70, 16), y, f, BLOCK=16)
    return y, f


X, INTS = _randn(64, 32), _ints(1, 60, 200)
# Programs that need no order run together; the others, for a reason that contains the words.
PROGRAMS = {
    "collatz": (_into(torch.zeros(50, dtype=torch.int32), lambda y: collatz[(50,)](INTS, y)), ""),
    "triangle": (_into(torch.zeros(20, 32), lambda y: triangle[(20,)](X, y, BLOCK=32)), ""),
    "in place": (_into(X, lambda y: in_place[(64,)](y, BLOCK=32)), ""),
    "far apart": (_into(_ints(0, 9, 7 * 40_000), lambda y: far_apart[(20,)](y, STRIDE=40_000, BLOCK=4)), ""),
    "three ways": (_into(torch.zeros(64), lambda y: three_ways[(64,)](X[:, 0].round().contiguous(), y)), ""),
    "garbage": (_into(torch.zeros(64), lambda y: garbage[(64,)](X[0, :20], _ints(-9, 20, 64), y, 20)), ""),
    "count": (_into(torch.zeros(5), lambda y: count[(64,)](_ints(0, 5, 64, 16), y, BLOCK=16)), ""),
    "count some": (_into(torch.zeros(5), lambda y: count_some[(64,)](_ints(0, 5, 64, 16), y, BLOCK=16)), ""),
    "own rows": (_into(torch.zeros(32), lambda y: own_rows[(13,)](X, y, 64, ROWS=5, BLOCK=32)), ""),
    "atomics": (_atomics, ""),
    "two kinds": (_into(torch.zeros(1, dtype=torch.int32), lambda y: atomics_of_two_kinds[(9,)](y)), "several kinds"),
    "search": (_into(torch.zeros(64, dtype=torch.int32), lambda y: search[(64,)](INTS % 5, y, 64)), ""),
    "one stores": (_into(torch.zeros(32), lambda y: one_program_stores[(64,)](X, y, BLOCK=32)), ""),
    "shapes": (_into(torch.zeros(40, 10, 8, 16), lambda y: shapes[(40,)](_randn(40, 8, 16), y, M=8, N=16)), ""),
    **{
        f"sums {a}{b}": (
            _into(torch.zeros(40, 16), lambda y, a=a, b=b: sums[(40,)](_randn(40, 32, 64), y, M=32, N=64, A=a, B=b)),
            "",
        )
        for a in (0, 1)
        for b in (0, 1)
    },
}
