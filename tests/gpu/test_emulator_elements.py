"""What makes large arrays quick in a pass changes no bit of them."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from both_ways import assert_same
from graded_kernels.autograder.gpu.emulator import Emulator, arithmetic
from graded_kernels.autograder.gpu.emulator.grid.places import Places

LARGE = 1 << 14


@pytest.mark.parametrize("word", ["f2", "f4", "f8", "i1", "u2", "i4", "i8", "?"])
@pytest.mark.parametrize("shapes", [((4, 1), (1, LARGE)), ((1, LARGE), (1, 1)), ((4, LARGE), (4, LARGE))], ids=str)
@pytest.mark.parametrize("truth", ["some", "all", "none"])
def test_a_choice_is_that_of_numpy_bit_for_bit(word, shapes, truth):
    bits = np.random.default_rng(1)
    values, others = (bits.integers(0, 256, (*shape, np.dtype(word).itemsize), np.uint8) for shape in shapes)
    values, others = (np.squeeze(array.view(word if word != "?" else "u1"), -1) for array in (values, others))
    if word == "?":
        values, others = values > 127, others > 127
    condition = bits.integers(0, 3, (4, LARGE), np.uint8).view(bool)  # a truth of 2 is one, too
    condition = {"some": condition, "all": np.ones_like(condition), "none": np.zeros_like(condition)}[truth]
    chosen, expected = arithmetic.select(condition, values, others), np.where(condition, values, others)
    assert (chosen.shape, chosen.dtype) == (expected.shape, expected.dtype)
    assert chosen.tobytes() == expected.tobytes()


@triton.jit
def longer_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    e = tl.exp(-x)
    tl.store(y_ptr + at, x / (1 + e) + tl.exp(x * x + 1) * (x - 3) + e)


def faults() -> int:
    """Pages that the system gives a launch which follows another."""
    x, y = torch.zeros(1 << 17), torch.empty(1 << 17)
    with Emulator() as emulator:
        for _ in range(4):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            longer_kernel[(128,)](x, y, BLOCK=1024)
    assert not emulator.fallbacks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_a_launch_computes_in_the_memory_of_the_one_before():
    around = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    code = "import test_emulator_elements; print(test_emulator_elements.faults())"
    child = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=around | {"TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
    )
    assert int(child.stdout.splitlines()[-1]) < 200


ROWS = np.array([[7], [190], [99]])
PLACES = {
    "a run": np.arange(20, 230).reshape(3, 70),
    "a run of short rows": np.arange(20, 44).reshape(3, 8),
    "one": np.array([5]),
    "rows": ROWS + np.arange(70),
    "rows of int32": (ROWS + np.arange(70)).astype(np.int32),
    "rows that overlap": ROWS // 2 + np.arange(70),
    "the same row": ROWS * 0 + np.arange(70),
    "tiles": (ROWS[:, :, None] + np.arange(3)[:, None] * 80) // 2 * 2 + np.arange(70),
    "short rows": ROWS + np.arange(8),
    "steps": ROWS + 2 * np.arange(70),
    "backwards": ROWS + 70 - np.arange(70),
    "the ends of a run": np.array([3, 5, 4, 6]),
    "one row that is none": ROWS + np.arange(70) + (ROWS == 99) * (np.arange(70) % 9 == 3),
    "rows out of line": ROWS + np.arange(70) + (ROWS == 99) * (np.arange(70) > 40),
    "a part of rows": (ROWS + np.arange(90))[:, :70],
}
RUNS = {"a run", "a run of short rows", "one"}


@pytest.mark.parametrize("distance", [0, 11])
@pytest.mark.parametrize("name", PLACES)
def test_places_are_what_their_offsets_are(name, distance):
    at = PLACES[name]
    places, words = Places(at).moved(distance), np.arange(700, dtype=np.uint32) * 3
    at = at + distance
    assert (places.low, places.high, places.shape, places.size) == (at.min(), at.max(), at.shape, at.size)
    assert np.array_equal(places.at, at)
    assert np.array_equal(places.take(words), words[at])
    assert not np.shares_memory(places.take(words), words)
    assert places.run == (name in RUNS)
    for values in (np.arange(at.size, dtype=np.uint32).reshape(at.shape), np.full((1,) * at.ndim, 7, np.uint32)):
        ours, theirs = words.copy(), words.copy()
        places.put(ours, values)
        theirs[at] = values
        assert np.array_equal(ours, theirs)


@triton.jit
def rows_kernel(x_ptr, y_ptr, from_row, from_stride, read, to_row, to_stride, stored, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (from_row + tl.program_id(0)) * from_stride + columns, mask=columns < read, other=0.5)
    tl.store(y_ptr + (to_row + tl.program_id(0)) * to_stride + columns, x + 1, mask=columns < stored)


# in place; the first row, the stride and the columns that are read, and that are stored; why it runs by program
MOVES = {
    "rows": (False, 0, 70, 64, 0, 100, 64, ""),
    "rows that meet": (False, 0, 64, 64, 0, 64, 64, ""),
    "a part of each": (False, 0, 70, 50, 0, 100, 50, ""),
    "read twice": (False, 0, 10, 64, 0, 100, 64, ""),
    "one row for all": (False, 0, 0, 64, 0, 100, 64, ""),
    "stored twice": (False, 0, 70, 64, 0, 60, 64, "two lanes store one element"),
    "in place": (True, 0, 100, 64, 0, 100, 64, ""),
    "of the row before": (True, 0, 100, 64, 1, 100, 64, "a program stores what another read"),
    "an element of the row before": (True, 0, 100, 64, 1, 63, 63, "a program stores what another read"),
    "what the program before read, too": (True, 0, 32, 64, 0, 32, 32, "a program stores what another read"),
    "beyond the end": (False, 8, 70, 64, 0, 100, 64, "a load outside x_ptr"),
    "before the start": (False, 0, 70, 64, -1, 100, 64, "a store outside y_ptr"),
}


@pytest.mark.parametrize("name", MOVES)
def test_rows_are_read_and_stored_as_one_program_at_a_time_does(name):
    in_place, *numbers, why = MOVES[name]

    def program():
        x, y = torch.arange(800.0), torch.zeros(800)
        rows_kernel[(7,)](x, x if in_place else y, *numbers, BLOCK=64)
        return x, y

    assert [reason for _, reason in assert_same(program)] == ([why] if why else [])


@triton.jit
def stores_kernel(y_ptr, z_ptr, first, second, third, begin, end, READS: tl.constexpr, BLOCK: tl.constexpr):
    """Rows first + p, second + p and third - p."""
    p, columns = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(y_ptr + (first + p) * BLOCK + columns, columns + p)
    tl.store(y_ptr + (second + p) * BLOCK + columns, columns + p)
    mask = (columns >= begin) & (columns < end)
    at = y_ptr + (third - p) * BLOCK + columns
    if READS:
        tl.store(z_ptr + p * BLOCK + columns, tl.load(at, mask=mask, other=0), mask=mask)
    else:
        tl.store(at, columns + p, mask=mask)


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize(
    "rows, meets",
    [((0, 3, 8, 0, 64), False), ((3, 0, 2, 0, 60), True), ((0, 3, 5, 33, 64), True), ((0, 3, 3, 0, 64), True)],
)
def test_stores_one_after_another(rows, meets, reads):
    def program():
        y, z = torch.zeros(576), torch.zeros(192)
        stores_kernel[(3,)](y, z, *rows, READS=reads, BLOCK=64)
        return y, z

    why = "a program reads what another stored" if reads else "two programs store one element"
    assert [reason for _, reason in assert_same(program)] == ([why] if meets else [])


@triton.jit
def tiles_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """Every program's rows overlap, and a block of pointers meets a number of each program's."""
    rows, columns = tl.arange(0, 4), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * 8 + rows[:, None] * 16 + columns[None, :])
    own = tl.load(tl.broadcast_to(x_ptr, (BLOCK,)) + tl.program_id(0))
    tl.store(y_ptr + (tl.program_id(0) * 4 + rows[:, None]) * BLOCK + columns[None, :], x + tl.sum(own))


def test_elements_that_several_lanes_of_a_program_ask_for_count_once():
    def program():
        y = torch.zeros(3 * 4 * 64)
        tiles_kernel[(3,)](torch.arange(200.0), y, BLOCK=64)
        return y

    assert assert_same(program) == []


@triton.jit
def again_kernel(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    """One array of offsets for accesses under several masks and none, of several tensors, and before and after
    programs part.
    """
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    x += tl.load(y_ptr + at, mask=at < n, other=2.0)
    x += tl.load(x_ptr + at, mask=at % 3 == 0, other=5.0)
    if tl.program_id(0) > 1:
        x += tl.load(x_ptr + at, mask=at < n - 3, other=7.0)
        x += tl.load(x_ptr + at, mask=at < n - 3, other=8.0)
    tl.store(y_ptr + at, x, mask=at < n - 1)


def test_one_array_of_offsets_under_several_masks():
    def program():
        y = torch.arange(128.0)
        again_kernel[(3,)](torch.arange(96.0), y, 90, 1, BLOCK=32)
        return y

    assert assert_same(program) == []
