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
