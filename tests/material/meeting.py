"""Kernels whose programs meet in atomics and use what these return: tickets, queues, locks, flags."""

import torch
import triton
import triton.language as tl


@triton.jit
def taken_slots(x_ptr, count_ptr, y_ptr):
    """Each program takes the next free slot, if it has something to store."""
    x = tl.load(x_ptr + tl.program_id(0))
    if x > 0:
        tl.store(y_ptr + tl.atomic_add(count_ptr, 1), x)


@triton.jit
def places_in_experts(expert_ptr, count_ptr, place_ptr, n, BLOCK: tl.constexpr):
    """Tickets of a block: each token's place among those of its expert, as routers of experts count them."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    expert = tl.load(expert_ptr + at, mask=at < n, other=0)
    tl.store(place_ptr + at, tl.atomic_add(count_ptr + expert, 1, mask=at < n), mask=at < n)


@triton.jit
def queue(x_ptr, y_ptr, next_ptr, tiles, BLOCK: tl.constexpr):
    """Programs take tiles from a queue until it is empty."""
    tile = tl.atomic_add(next_ptr, 1)
    while tile < tiles:
        at = tile * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + at, tl.load(x_ptr + at) * 2 + tile)
        tile = tl.atomic_add(next_ptr, 1)


@triton.jit
def split_k(a_ptr, b_ptr, part_ptr, c_ptr, count_ptr, K, HOW: tl.constexpr, SPLITS: tl.constexpr, B: tl.constexpr):
    """The last program of a tile to come adds up what all have computed, and sets the counter back."""
    tile, split, i = tl.program_id(0), tl.program_id(1), tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(split * B, K, SPLITS * B):
        a = tl.load(a_ptr + (tile * B + i[:, None]) * K + k + i[None, :])
        acc += tl.dot(a, tl.load(b_ptr + (k + i[:, None]) * B + i[None, :]), input_precision="ieee")
    square = i[:, None] * B + i[None, :]
    tl.store(part_ptr + (tile * SPLITS + split) * B * B + square, acc)
    if HOW != "no barrier":
        tl.debug_barrier()
    ticket = tl.atomic_add(count_ptr + tile, 1, sem="relaxed" if HOW == "relaxed" else "acq_rel")
    if ticket == SPLITS - 1:
        total = tl.zeros((B, B), tl.float32)
        for part in range(SPLITS):
            total += tl.load(part_ptr + (tile * SPLITS + part) * B * B + square)
        tl.store(c_ptr + tile * B * B + square, total)
        tl.store(count_ptr + tile, 0)


@triton.jit
def under_locks(x_ptr, sum_ptr, lock_ptr, HOW: tl.constexpr, LOCKS: tl.constexpr, BLOCK: tl.constexpr):
    """Each program adds its row to the sum of its lock."""
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * BLOCK + i)
    lock, total = lock_ptr + row % LOCKS, sum_ptr + row % LOCKS * BLOCK + i
    if HOW == "exchanged":
        while tl.atomic_xchg(lock, 1) != 0:
            pass
        tl.store(total, tl.load(total) + x)
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0)
    elif HOW == "no lock":
        tl.store(total, tl.load(total) + x)
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0)
    else:
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
        tl.store(total, tl.load(total) + x)
        if HOW != "no barrier":
            tl.debug_barrier()
        if HOW != "never released":
            tl.atomic_xchg(lock, 0)


@triton.jit
def layer_norm_backward(x_ptr, dy_ptr, dw_ptr, db_ptr, lock_ptr, N, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """Partial sums of the gradients of weight and bias as Triton's tutorial adds them up."""
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    mask = cols < N
    x_ptr += row * N
    dy_ptr += row * N
    lock_ptr += row % GROUPS
    count_ptr = lock_ptr + GROUPS
    dw_ptr += row % GROUPS * N + cols
    db_ptr += row % GROUPS * N + cols
    x = tl.load(x_ptr + cols, mask=mask, other=0)
    dy = tl.load(dy_ptr + cols, mask=mask, other=0)
    dw, db = dy * (x - tl.sum(x) / N), dy
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    count = tl.load(count_ptr)
    if count == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        dw += tl.load(dw_ptr, mask=mask)
        db += tl.load(db_ptr, mask=mask)
    tl.store(dw_ptr, dw, mask=mask)
    tl.store(db_ptr, db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def stream_k(x_ptr, part_ptr, y_ptr, flag_ptr, n, LATER: tl.constexpr, SHARE: tl.constexpr, BLOCK: tl.constexpr):
    """Rows are cut into equal shares of blocks; who has the end of a row adds up what the others have of it, and waits
    for them: programs before it, or after it.
    """
    p, i = tl.program_id(0), tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for block in range(p * SHARE, (p + 1) * SHARE):
        acc += tl.load(x_ptr + block * BLOCK + i)
    ends = p % 3 == (0 if LATER else 2)
    if ends:
        for step in tl.static_range(1, 3):
            other = p + step if LATER else p - step
            while tl.atomic_cas(flag_ptr + other, 1, 1) != 1:
                pass
            acc += tl.load(part_ptr + other * BLOCK + i)
        tl.store(y_ptr + p // 3 * BLOCK + i, acc)
    else:
        tl.store(part_ptr + p * BLOCK + i, acc)
        tl.debug_barrier()
        tl.atomic_xchg(flag_ptr + p, 1)


@triton.jit
def every_atomic(x_ptr, y_ptr, f_ptr, out_ptr, BLOCK: tl.constexpr):
    """What every atomic returns, of few elements, so that lanes and programs meet; one of them with a mask."""
    p = tl.program_id(0)
    x = tl.load(x_ptr + p * BLOCK + tl.arange(0, BLOCK))
    out, at = out_ptr + p * 9 * BLOCK + tl.arange(0, BLOCK), y_ptr + x % 3
    tl.store(out, tl.atomic_add(at, x))
    tl.store(out + BLOCK, tl.atomic_max(at + 3, x))
    tl.store(out + 2 * BLOCK, tl.atomic_min(at + 6, x))
    tl.store(out + 3 * BLOCK, tl.atomic_and(at + 9, x))
    tl.store(out + 4 * BLOCK, tl.atomic_or(at + 12, x))
    tl.store(out + 5 * BLOCK, tl.where(x > 2, tl.atomic_xor(at + 15, x, mask=x > 2), 0))
    tl.store(out + 6 * BLOCK, tl.atomic_xchg(at + 18, x))
    tl.store(out + 7 * BLOCK, tl.atomic_cas(at + 21, x % 2, x).to(tl.int32))
    tl.store(out + 8 * BLOCK, (tl.atomic_add(f_ptr + x % 3, x / 7) * 1e6).to(tl.int32))


@triton.jit
def claim(count_ptr):
    """An atomic whose result is used, in a function that is called as a statement."""
    return tl.atomic_add(count_ptr, 1)


@triton.jit
def two_tickets(count_ptr, y_ptr):
    """Each program takes two slots, and uses the second."""
    claim(count_ptr)
    tl.store(y_ptr + claim(count_ptr), tl.program_id(0) + 1)


@triton.jit
def between_two_tickets(count_ptr, y_ptr):
    first = claim(count_ptr)
    tl.store(y_ptr + tl.program_id(0), claim(count_ptr) - first)


@triton.jit
def left_with_a_ticket(count_ptr, y_ptr):
    """Programs part for good behind a ticket."""
    ticket = tl.atomic_add(count_ptr, 1)
    if ticket % 2 == 0:
        return
    tl.store(y_ptr + ticket, 1)


@triton.jit
def with_or_without_a_lock(x_ptr, y_ptr, lock_ptr, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """A lock that only some launches have: the others give no tensor for it."""
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    if HOW == "if":
        while tl.atomic_cas(lock_ptr + row % 2, 0, 1) == 1:
            pass
    while HOW == "and" and tl.atomic_cas(lock_ptr + row % 2, 0, 1) == 1:
        pass
    tl.store(y_ptr + row * BLOCK + i, tl.load(x_ptr + row * BLOCK + i))
    if HOW != "":
        tl.atomic_xchg(lock_ptr + row % 2, 0)


@triton.jit
def shares_of_a_sum(x_ptr, part_ptr, y_ptr, count_ptr, HOW: tl.constexpr, N: tl.constexpr):
    """Each program divides its value by the sum of all, and does not wait until all are there: it may count up to N
    alone.
    """
    p = tl.program_id(0)
    x = tl.load(x_ptr + p)
    tl.store(part_ptr + p, x)
    tl.debug_barrier()
    arrived = tl.atomic_add(count_ptr, 1)
    if HOW == "counted":
        while arrived < N:
            arrived = tl.atomic_add(count_ptr, 1)
    else:
        arrived += tl.atomic_add(count_ptr, 1)
    tl.store(y_ptr + p, x / tl.sum(tl.load(part_ptr + tl.arange(0, N))))


@triton.jit
def acquire(lock_ptr, HOW: tl.constexpr):
    """Takes a lock by an atomic that changes it each time."""
    if HOW == "added":
        while tl.atomic_add(lock_ptr, 1) != 0:
            pass
    else:
        while tl.atomic_xchg(lock_ptr, tl.program_id(0) + 1) != 0:
            pass


@triton.jit
def under_a_lock_of_a_helper(sum_ptr, lock_ptr, HOW: tl.constexpr):
    """Adds up the numbers of the programs."""
    acquire(lock_ptr, HOW)
    tl.store(sum_ptr, tl.load(sum_ptr) + tl.program_id(0))
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def taken_from_a_later_one(y_ptr, flag_ptr):
    """Every second program waits for what the next one gives it, and takes it away."""
    p = tl.program_id(0)
    if p % 2 == 0:
        while tl.atomic_cas(flag_ptr + p, 1, 0) != 1:
            pass
        tl.store(y_ptr + p, 1)
    else:
        tl.atomic_xchg(flag_ptr + p - 1, 1)


@triton.jit
def stored_over_a_load(x_ptr, y_ptr, count_ptr, BLOCK: tl.constexpr):
    """The last program to come stores what the first has loaded, with no barrier behind that. The later ones load more
    often.
    """
    p, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (p > 0) * BLOCK + i)
    for _ in range(p * 30):
        x += tl.load(x_ptr + BLOCK + i)
    ticket = tl.atomic_add(count_ptr, 1)
    if ticket == tl.num_programs(0) - 1:
        tl.store(x_ptr + i, x)
    tl.store(y_ptr + p * BLOCK + i, x)


@triton.jit
def own_tickets(count_ptr, y_ptr):
    """Each program stores its ticket in its own place: an order of the programs."""
    tl.store(y_ptr + tl.program_id(0), tl.atomic_add(count_ptr, 1))


def randn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def zeros(*shape):
    return torch.zeros(*shape, dtype=torch.int32)


def slots():
    x, count, y = randn(90).round(), zeros(1), torch.zeros(90)
    taken_slots[(90,)](x, count, y)
    return y, count


def experts():
    count, place = zeros(5), zeros(300)
    expert = torch.randint(0, 5, (300,), generator=torch.Generator().manual_seed(0), dtype=torch.int32)
    places_in_experts[(10,)](expert, count, place, 300, BLOCK=32)
    return place, count


def tiles():
    x, y, count = randn(37 * 16), torch.zeros(37 * 16), zeros(1)
    queue[(6,)](x, y, count, 37, BLOCK=16)
    return y, count


def splits(how=""):
    a, b, c, count = randn(3 * 16, 160), randn(160, 16), torch.zeros(3, 16, 16), zeros(3)
    split_k[(3, 4)](a, b, torch.zeros(3, 4, 16, 16), c, count, 160, HOW=how, SPLITS=4, B=16)
    return c, count


def locks(how="", locks=5, block=64, rows=23):
    total = torch.zeros(locks, block)
    under_locks[(rows,)](randn(rows, block), total, zeros(locks), HOW=how, LOCKS=locks, BLOCK=block)
    return total


def gradients():
    dw, db = torch.empty(4, 50), torch.empty(4, 50)
    layer_norm_backward[(30,)](randn(30, 50), randn(50, 30).T.contiguous(), dw, db, zeros(8), 50, GROUPS=4, BLOCK=64)
    return dw, db


def streams(later=False):
    x, part, y, flag = randn(12 * 5, 32), torch.zeros(12, 32), torch.zeros(4, 32), zeros(14)
    stream_k[(12,)](x, part, y, flag, 60, LATER=later, SHARE=5, BLOCK=32)
    return y


def atomics():
    x = torch.randint(0, 9, (20, 16), generator=torch.Generator().manual_seed(1), dtype=torch.int32)
    y, f, out = torch.full((24,), 3, dtype=torch.int32), torch.zeros(3), zeros(20, 9, 16)
    every_atomic[(20,)](x, y, f, out, BLOCK=16)
    return y, f, out


def pairs():
    count, y = zeros(1), zeros(60)
    two_tickets[(30,)](count, y)
    return y, count


def distances():
    y = zeros(30)
    between_two_tickets[(30,)](zeros(1), y)
    return y


def left():
    count, y = zeros(1), zeros(30)
    left_with_a_ticket[(30,)](count, y)
    return y, count


def optional(how=""):
    y = torch.zeros(4 * 32)
    with_or_without_a_lock[(4,)](randn(4 * 32), y, zeros(2) if how else None, HOW=how, BLOCK=32)
    return y


def shares(how=""):
    y = torch.zeros(8)
    shares_of_a_sum[(8,)](randn(8).abs(), torch.zeros(8), y, zeros(1), HOW=how, N=8)
    return y


def helped(how):
    total = zeros(1)
    under_a_lock_of_a_helper[(6,)](total, zeros(1), HOW=how)
    return total


def taken():
    y = zeros(8)
    taken_from_a_later_one[(8,)](y, zeros(8))
    return y


def loaded():
    x, y = randn(2 * 64), torch.zeros(4 * 64)
    stored_over_a_load[(4,)](x, y, zeros(1), BLOCK=64)
    return x, y


def tickets():
    y = zeros(30)
    own_tickets[(30,)](zeros(1), y)
    return y
