"""Programs of random steps that meet: locks, tickets, flags, with barriers and without; most of them race."""

import random
from collections.abc import Callable

import torch
import triton
import triton.language as tl

PROGRAMS = 12


@triton.jit
def meeting_kernel(
    own_ptr, shared_ptr, third_ptr, lock_ptr, count_ptr, out_ptr, STEPS: tl.constexpr, G: tl.constexpr, B: tl.constexpr
):
    """Programs of one group share a lock, a counter, a flag and two rows."""
    p, i = tl.program_id(0), tl.arange(0, B)
    g, size = p % G, tl.num_programs(0) // G
    own, shared, third = own_ptr + p * B + i, shared_ptr + g * B + i, third_ptr + g * B + i
    x = tl.load(own)
    for s in tl.static_range(len(STEPS)):
        step: tl.constexpr = STEPS[s]
        count = count_ptr + s * G + g
        if step == "stores":
            tl.store(own, x + 1)
        elif step == "waits":
            tl.debug_barrier()
        elif step == "sums":
            x += tl.sum(x)
        elif step == "adds under the lock" or step == "adds without a barrier":
            while tl.atomic_cas(lock_ptr + g, 0, 1) == 1:
                pass
            tl.store(shared, tl.load(shared) + x)
            if step == "adds under the lock":
                tl.debug_barrier()
            tl.atomic_xchg(lock_ptr + g, 0)
        elif step == "reads under another lock":
            while tl.atomic_cas(lock_ptr + G + g, 0, 1, sem="acquire") == 1:
                pass
            x += tl.load(shared)
            tl.atomic_xchg(lock_ptr + G + g, 0, sem="release")
        elif step == "reads the sum":
            x += tl.load(shared)
        elif step == "the last one reads all":
            if tl.atomic_add(count, 1) == size - 1:
                for other in range(size):
                    x += tl.load(own_ptr + (g + other * G) * B + i)
        elif step == "the first one stores":
            if tl.atomic_add(count, 1, sem="relaxed") == 0:
                tl.store(third, x)
        elif step == "all wait for the first":
            if tl.atomic_add(count, 1) == 0:
                tl.store(third, x)
                tl.debug_barrier()
                tl.atomic_xchg(lock_ptr + 2 * G + g, 1)
            else:
                while tl.atomic_cas(lock_ptr + 2 * G + g, 1, 1) != 1:
                    pass
                x += tl.load(third)
        elif step == "all store":
            tl.store(third, x)
        elif step == "reads what all store":
            x += tl.load(third)
        elif step == "counts":
            tl.atomic_add(count_ptr + len(STEPS) * G + g, 1)
        elif step == "reads a counter":
            x += tl.load(count)
    tl.store(out_ptr + p * B + i, x)


STEPS = (
    *("stores", "waits", "waits", "sums", "adds under the lock", "adds without a barrier", "reads under another lock"),
    *("reads the sum", "the last one reads all", "the first one stores", "all wait for the first", "all store"),
    *("reads what all store", "counts", "reads a counter"),
)


def program(seed: int) -> Callable[[], tuple[torch.Tensor, ...]]:
    """A program that takes each lock once: the order in which it is taken is then that of the programs."""
    draw = random.Random(seed)
    steps = [draw.choice(STEPS) for _ in range(5)]
    while sum(step.startswith("adds") for step in steps) > 1:
        steps.remove(next(step for step in steps if step.startswith("adds")))
    groups, block, warps = draw.choice((1, 3, 4)), draw.choice((32, 64)), draw.choice((1, 4))

    def run() -> tuple[torch.Tensor, ...]:
        own = torch.randn(PROGRAMS * block, generator=torch.Generator().manual_seed(seed))
        shared, third, out = torch.zeros(groups * block), torch.full((groups * block,), 5.0), torch.zeros_like(own)
        lock, count = (torch.zeros(size * groups, dtype=torch.int32) for size in (3, len(steps) + 1))
        sizes = {"STEPS": tuple(steps), "G": groups, "B": block}
        meeting_kernel[(PROGRAMS,)](own, shared, third, lock, count, out, **sizes, num_warps=warps)
        return own, shared, third, lock, count, out

    return run
