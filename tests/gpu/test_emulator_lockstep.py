"""Programs of different rounds and sides: they wait for each other, part, or run one at a time, and all is the same."""

import inspect
import signal
from collections import Counter
from collections.abc import Iterable

import pytest
import ragged_edges
import torch
import triton
import triton.language as tl
from both_ways import WAYS, observe
from graded_kernels.autograder.gpu.emulator.grid import lockstep, passes
from random_kernels import Ragged, kernels
from turns import in_turn

CHUNK = 20
FEW, MANY = range(0, 4), [range(4, CHUNK), *(range(first, first + CHUNK) for first in range(CHUNK, 600, CHUNK))]
IN_TEST_ALL = 6  # chunks, of half a minute each; the others before a release
TOGETHER = ("together", "in small passes")
ORDERS = (  # what hangs on when programs come to an atomic, which they do otherwise where they part
    "several atomics on one element, the result of one of which is used",
    "programs part after an atomic whose result is used",
    "programs that part and come to an atomic out of order",
)
ROWS = {"usual": lockstep._FEW, "never": 0, "always": 1.1}  # of so few live rows the others are left behind


def compare_edge(name: str, ways: Iterable[str], *shuffles: int | None) -> None:
    program = ragged_edges.programs()[name]
    for shuffle in shuffles:
        alone, _ = observe(program, "one at a time", shuffle)
        parting, before = observe(program, "parting", shuffle)
        assert parting == alone
        for way in ways:
            seen, fallbacks = observe(program, way, shuffle)
            assert seen == alone, way
            if (
                "guarded" not in name
            ):  # no GPU runs a variable that only some programs have: one at a time, it is certain
                assert bool(fallbacks) == bool(before), (way, fallbacks)


@pytest.mark.parametrize(("name", "way"), in_turn(ragged_edges.programs(), TOGETHER))
def test_edges(name, way):
    compare_edge(name, [way], None)


@pytest.mark.exhaustive
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", ragged_edges.programs())
def test_edges_with_and_without_the_rows_of_those_that_wait(name, rows, monkeypatch):
    monkeypatch.setattr(lockstep, "_FEW", ROWS[rows])
    compare_edge(name, TOGETHER, None, 1)


@pytest.mark.parametrize(
    "seeds",
    [
        FEW,
        *(pytest.param(seeds, marks=pytest.mark.exhaustive) for seeds in MANY[:IN_TEST_ALL]),
        *(pytest.param(seeds, marks=pytest.mark.release) for seeds in MANY[IN_TEST_ALL:]),
    ],
    ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}",
)
def test_random_ragged_kernels(seeds, tmp_path, monkeypatch):
    tally = Counter()
    for kernel in kernels(seeds, tmp_path, Ragged):
        shuffle = None if kernel.seed % 3 else kernel.seed
        monkeypatch.setattr(lockstep, "_FEW", list(ROWS.values())[kernel.seed % 4 % 3])
        about = f"seed {kernel.seed}, shuffle {shuffle}\n{kernel.source}"
        alone, _ = observe(kernel.run, "one at a time", shuffle)
        parting, before = observe(kernel.run, "parting", shuffle)
        assert parting == alone, f"parting, {about}"
        for way in TOGETHER:
            seen, fallbacks = observe(kernel.run, way, shuffle)
            assert seen == alone, f"{way}, {about}"
            tally["in passes" if not fallbacks else "fell back"] += 1
            if not any(why in ORDERS for _, why in (*before, *fallbacks)):
                assert bool(fallbacks) == bool(before), f"{fallbacks}, parting {before}, {about}"
    print(f"seeds {seeds.start} to {seeds.stop - 1}: {dict(tally)}")
    assert tally["in passes"] > len(seeds)


@pytest.mark.parametrize("name", ["chooses", "returns_from_three_places"])
def test_programs_that_take_two_sides_of_one_line_go_together(name, monkeypatch):
    passed, original = [], passes.Programs
    monkeypatch.setattr(passes, "Programs", lambda *about: passed.append(original(*about)) or passed[-1])
    observe(ragged_edges.programs()[name], "together")
    assert len(passed) == 1


@triton.jit
def block_as_bound(n_ptr, y_ptr, BLOCK: tl.constexpr):
    total = 0
    for _ in range(tl.load(n_ptr + tl.arange(0, BLOCK))):
        total += 1
    tl.store(y_ptr + tl.program_id(0), total)


@pytest.mark.parametrize("block", [1, 4])
@pytest.mark.parametrize("way", WAYS)
def test_a_block_is_no_bound_of_a_loop(block, way):
    """Rounds that differ between the lanes of one program are no loop of Triton's; its compiler dies of them."""

    def program():
        block_as_bound[(3,)](torch.arange(4, dtype=torch.int32), torch.zeros(3), BLOCK=block)

    error = observe(program, way)[0].error
    assert f"a block of shape ({block},) is no bound of a loop" in error
    assert "for _ in range(" in error


@triton.jit
def endless(n_ptr, y_ptr):
    """The programs of a positive number end after so many rounds, the others never."""
    p = tl.program_id(0)
    left = tl.load(n_ptr + p)
    while left != 0:
        left = left - 1 + tl.load(n_ptr + p) * 0
        left = tl.where(left < 0, -1, left)
    tl.store(y_ptr + p, left)


class TimeIsUp(BaseException):
    """Whoever runs a kernel gives it so much time."""


@pytest.mark.parametrize("way", ["together", "parting"])
def test_an_endless_loop_of_some_programs_is_left_at_its_line(way):
    def stop(number, frame):
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, stop)
    y = torch.zeros(40)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(TimeIsUp) as left:
            observe(lambda: endless[(40,)](torch.arange(-20, 20, dtype=torch.int32), y), way)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    lines, first = inspect.getsourcelines(endless.fn)
    (line,) = {entry.lineno + 1 - first for entry in left.traceback if entry.name == "endless"}
    assert lines[line].startswith(("    while", "        left"))
