"""Locks: what they put in order, and what they do not."""

import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import Emulator


@triton.jit
def taking_turns(y, lock, HOW: tl.constexpr):
    """Adds to y under a lock, and beside it."""
    while tl.atomic_cas(lock, 0, 1, sem="acquire" if HOW == "acquire and release" else "acq_rel") == 1:
        pass
    if HOW == "released twice":
        tl.atomic_xchg(lock, 1)
    here = tl.load(y)
    tl.store(y, here + 1)
    if HOW == "relaxed":
        tl.atomic_xchg(lock, 0, sem="relaxed")
    else:
        tl.atomic_xchg(lock, 0, sem="release" if HOW == "acquire and release" else "acq_rel")
    if HOW == "stores later":
        tl.store(y + 1, here)
    if HOW == "loads later":
        tl.store(y + 2 + tl.program_id(0), tl.load(y))


@triton.jit
def handed_on(y, ready):
    """Each program waits for the one before it on a word of its own."""
    program = tl.program_id(0)
    if program > 0:
        while tl.atomic_cas(ready + program - 1, 1, 1) == 0:
            pass
    if program != 1:  # the first one's store is ordered with the third's by way of the second
        tl.store(y, tl.load(y) + 1)
    tl.atomic_xchg(ready + program, 1)


def found(kernel, *arguments):
    y = torch.zeros(8)
    with Emulator() as emulator:
        kernel[(3,)](y, torch.zeros(4, dtype=torch.int32), *arguments)
    return y[0].item(), [finding.kind for finding in emulator.findings]


@pytest.mark.parametrize("how", ["acquired and released", "acquire and release", "released twice"])
def test_what_a_lock_guards_is_no_race(how):
    assert found(taking_turns, how) == (3, [])


@pytest.mark.parametrize(
    "how, kinds",
    [
        ("stores later", ["store-conflict"]),
        ("loads later", ["race-write"]),
        ("relaxed", ["race-read", "store-conflict"]),
    ],
)
def test_what_a_program_does_after_it_gave_back_the_lock_is_not_guarded(how, kinds):
    assert found(taking_turns, how)[1] == kinds


def test_order_is_handed_on_from_word_to_word():
    assert found(handed_on) == (2, [])


@triton.jit
def reads_the_total(x, y):
    tl.atomic_add(x, 1.0, sem="relaxed")
    if tl.program_id(0) == 3:
        tl.store(y, tl.load(x))


def test_a_total_of_several_programs_is_not_one_programs_own():
    with Emulator() as emulator:
        reads_the_total[(4,)](torch.zeros(1), torch.zeros(1))
    assert [finding.kind for finding in emulator.findings] == ["race-read"]


@triton.jit
def adding_blocks(x, total, lock, copy, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """Adds a row to a total under a lock."""
    p, i = tl.program_id(0), tl.arange(0, BLOCK)
    here = tl.load(x + p * BLOCK + i)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    before = tl.load(total + i)
    if HOW != "loads":
        tl.store(total + i, before + here)
    if HOW == "barrier":
        tl.debug_barrier()
    if HOW == "sum":
        tl.store(copy + p, tl.sum(here))
    if HOW == "barrier after":
        tl.atomic_xchg(lock, 0)
        tl.debug_barrier()
    else:
        tl.atomic_xchg(lock, 0)
    if HOW == "loads" and p == 3:
        tl.store(total + i, here)
    if HOW == "loads":
        tl.store(copy + p * BLOCK + i, before)


@pytest.mark.parametrize(
    "how, block, warps, kinds",
    [
        ("barrier", 128, 4, []),
        ("sum", 128, 4, []),  # threads that exchange values wait for each other
        ("none", 128, 1, []),
        ("none", 32, 4, []),  # one warp has all of the block, and the others nothing
        ("none", 64, 2, ["race-read", "store-conflict"]),
        ("barrier after", 64, 4, ["race-read", "store-conflict"]),
        ("loads", 64, 4, ["race-write"]),
    ],
)
def test_one_thread_gives_back_a_lock_and_others_may_not_be_there_yet(how, block, warps, kinds):
    x, total, copy = torch.randn(4, block), torch.zeros(block), torch.zeros(4, block)
    with Emulator() as emulator:
        adding_blocks[(4,)](x, total, torch.zeros(1, dtype=torch.int32), copy, how, block, num_warps=warps)
    assert [finding.kind for finding in emulator.findings] == kinds
    for finding in emulator.findings[: 2 if how != "loads" else 0]:
        assert "put `tl.debug_barrier()` before the release" in finding.message
        assert finding.offset == 32  # the first that another warp has
    if how != "loads":
        torch.testing.assert_close(total, x.sum(0))
