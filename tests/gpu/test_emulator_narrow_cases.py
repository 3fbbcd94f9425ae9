"""Single cases on which alone a small mistake in the emulator shows: an edge, another axis, one of several programs."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from both_ways import assert_same
from graded_kernels.autograder.gpu.emulator import Emulator, EmulatorError, approximate, offsets
from graded_kernels.autograder.gpu.emulator.arithmetic import narrow
from graded_kernels.autograder.gpu.emulator.touched import Touched


def test_a_logarithm_of_one_half_counts_as_near_one():
    error = approximate.near_one(10, lambda x, exact: np.ones_like(x))
    assert error(np.array([0.5, 2.0, 0.499, 2.001]), np.zeros(4)).tolist() == [2.0**-10, 2.0**-10, 1.0, 1.0]


def test_approximate_results_are_off_on_both_sides():
    x = np.array([2.0, np.nextafter(np.float32(2), np.float32(3))])
    error = approximate.off(np.sqrt, lambda x, exact: np.full(x.shape, 1e-3))(x) - np.sqrt(x)
    assert sorted(np.sign(error)) == [-1, 1]


def test_a_float64_is_narrowed_to_the_odd_neighbour():
    one = np.float32(1)
    above, below = np.nextafter(one, np.float32(2)), np.nextafter(one, np.float32(0))
    assert narrow(np.array([1 + 2.0**-30, 1 - 2.0**-30, -1 - 2.0**-30])).tolist() == [above, below, -above]


def test_lanes_meet_beyond_the_last_element_that_was_touched_before():
    touched = Touched(np.array([0, 5]), np.array([0, 1]))
    assert touched.meets(np.array([5, 9]), np.array([2, 3]))
    assert not touched.meets(np.array([6, 9]), np.array([2, 3]))


@triton.jit
def places_kernel(y_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    tl.store(y_ptr + (x * tl.num_programs(1) + y) * tl.num_programs(2) + z, 100 * x + 10 * y + z)


def test_the_programs_of_a_grid_of_three_axes():
    y = torch.empty(2, 3, 5, dtype=torch.int32)
    with Emulator() as emulator:
        places_kernel[(2, 3, 5)](y)
    assert emulator.fallbacks == []
    x, row, column = (torch.arange(n, dtype=torch.int32) for n in y.shape)
    assert torch.equal(y, 100 * x[:, None, None] + 10 * row[:, None] + column)


@triton.jit
def before_kernel(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(x_ptr - 1))


def test_one_element_before_a_tensor_is_a_negative_index():
    with pytest.raises(EmulatorError, match="An index in it is negative"), Emulator():
        before_kernel[(1,)](torch.ones(4), torch.empty(1))


@triton.jit
def first_and_own_kernel(x_ptr, y_ptr):
    """Every program reads the first element and one of its own; the last one stores to the first."""
    program = tl.program_id(0)
    at = tl.arange(0, 2)
    tl.store(y_ptr + 2 * program + at, tl.load(x_ptr + at * (program + 1)))
    if program == tl.num_programs(0) - 1:
        tl.store(x_ptr, 7.0)


def test_the_last_of_several_readers_stores():
    """The others race with it."""

    with Emulator() as emulator:
        first_and_own_kernel[(4,)](torch.zeros(6), torch.empty(8))
    assert [(finding.kind, finding.tensor, finding.offset) for finding in emulator.findings] == [
        ("race-write", "x_ptr", 0)
    ]


@triton.jit
def ragged_rows_kernel(x_ptr, lengths_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    """A block pointer goes along a row for as many blocks as the row's length says."""
    row = tl.program_id(0)
    block = tl.make_block_ptr(x_ptr, (tl.num_programs(0), columns), (columns, 1), (row, 0), (1, BLOCK), (1, 0))
    total = tl.zeros((1, BLOCK), tl.float32)
    for _ in range(tl.load(lengths_ptr + row)):
        total += tl.load(block, boundary_check=(0, 1), padding_option="zero")
        block = tl.advance(block, (0, BLOCK))
    last = tl.load(block, boundary_check=(0, 1), padding_option="zero")
    tl.store(y_ptr + row, tl.sum(total) + 100 * tl.sum(last))


def test_a_block_pointer_that_each_program_leaves_elsewhere():
    x, lengths = torch.ones(9, 64), torch.tensor([0, 3, 1, 4, 2, 2, 1, 3, 0], dtype=torch.int32)

    def program():
        y = torch.empty(9)
        ragged_rows_kernel[(9,)](x, lengths, y, 64, BLOCK=16)
        return y, torch.where(lengths < 4, 16 * lengths + 1600, 64).float()

    assert assert_same(program) == []
    with Emulator():
        y, right = program()
    assert torch.equal(y, right)


@triton.jit
def counted_kernel(lengths_ptr, y_ptr):
    total = 0
    for i in tl.range(tl.load(lengths_ptr + tl.program_id(0))):
        total += i
    tl.store(y_ptr + tl.program_id(0), total)


def test_a_range_of_the_language_runs_for_all_programs_together():
    lengths, y = torch.tensor([3, 0, 5, 1], dtype=torch.int32), torch.empty(4, dtype=torch.int32)
    with Emulator() as emulator:
        counted_kernel[(4,)](lengths, y)
    assert emulator.fallbacks == []
    assert y.tolist() == [3, 0, 10, 0]


@triton.jit
def twice_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at) + 1)


def test_several_launches_on_one_tensor():
    x = torch.zeros(64)

    def program():
        y = torch.empty(64)
        twice_kernel[(4,)](x, y, BLOCK=16)
        twice_kernel[(4,)](y, y, BLOCK=16)
        twice_kernel[(4,)](y, y, BLOCK=16)
        return y, torch.full((64,), 3.0)

    assert assert_same(program) == []


@triton.jit
def scattered_kernel(y_ptr, distance, flag_ptr):
    """Adds 1 far apart, then meets what another program stored, so that all run again, one by one."""
    at = tl.arange(0, 2) * distance + tl.program_id(0)
    tl.store(y_ptr + at, tl.load(y_ptr + at) + 1.0)
    tl.store(flag_ptr, 1.0)


def test_what_lies_far_into_its_storage_is_put_back():
    memory = torch.zeros(1 << 16)

    def program():
        memory.zero_()
        y = memory[1 << 14 :]
        scattered_kernel[(3,)](y, 1 << 15, torch.zeros(1))
        return memory, memory

    assert_same(program)
    assert memory.sum() == 6


@triton.jit
def largest_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    tl.store(y_ptr, tl.max(tl.load(x_ptr + tl.arange(0, BLOCK)), 0))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_largest_of_negative_halves(dtype):
    y = torch.empty(1, dtype=dtype)
    with Emulator():
        largest_kernel[(1,)](torch.tensor([-3.0, -1.0, -2.0, -4.0], dtype=dtype), y, BLOCK=4)
    assert y.item() == -1


def test_a_product_of_two_lanes_does_not_outgrow_32_bits():
    assert not offsets.outgrows(offsets.product(offsets.LANE, offsets.LANE, False))
    assert offsets.outgrows(offsets.product(offsets.SIZE, offsets.SIZE, False))
