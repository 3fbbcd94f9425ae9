"""What the emulator counts: bytes that a launch moves, each address once, and how often a loop runs."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import Emulator
from graded_kernels.autograder.gpu.emulator.address_space import distinct


@triton.jit
def scaled_rows_kernel(x_ptr, w_ptr, y_ptr, m_ptr, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Several rows to a program; the weight is read once for all of them, by a block that broadcasts."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    mask = (rows < M) & (cols < N)
    w = tl.load(w_ptr + cols + 0 * rows, mask=mask, other=0.0)
    tl.store(y_ptr + rows * N + cols, tl.load(x_ptr + rows * N + cols, mask=mask, other=0.0) * w, mask=mask)
    last = tl.load(x_ptr + rows * 0 + cols * 0 + N)
    tl.store(m_ptr + rows * 0 + cols * 0, last)


@pytest.mark.parametrize("shuffle", [None, 5])
def test_many_lanes_that_ask_for_one_address_are_one_fetch(shuffle):
    x, w, y, m = torch.randn(6, 20), torch.randn(20), torch.zeros(6, 20), torch.zeros(1)
    with Emulator(shuffle=shuffle) as emulator:
        scaled_rows_kernel[(2,)](x, w, y, m, 6, 20, ROWS=4, BLOCK=32)
    assert emulator.traffic == {
        "x_ptr": {"loaded": 4 * (6 * 20 + 2), "stored": 0},  # two programs read one element more
        "w_ptr": {"loaded": 4 * 2 * 20, "stored": 0},
        "y_ptr": {"loaded": 0, "stored": 4 * 6 * 20},
        "m_ptr": {"loaded": 0, "stored": 4 * 2},
    }


@triton.jit
def loops_kernel(out_ptr, n, FUNCTION: tl.constexpr):
    at = 0
    if FUNCTION == 0:
        for i in range(1, n, 2):
            tl.store(out_ptr + at, (i.to(tl.int64) << 32) + i)
            at += 1
    elif FUNCTION == 1:
        for i in tl.range(1, n, step=2, num_stages=3):
            tl.store(out_ptr + at, (i.to(tl.int64) << 32) + i)
            at += 1
    else:
        for i in tl.static_range(1, 7, 2):
            tl.store(out_ptr + at, tl.full((), (i << 32) + i, tl.int64))
            at += 1


@pytest.mark.parametrize("function", [0, 1, 2])
def test_a_loop_counts_in_a_tensor_and_an_unrolled_one_in_a_constant(function):
    out = torch.zeros(4, dtype=torch.int64)
    with Emulator():
        loops_kernel[(1,)](out, 6, FUNCTION=function)
    assert out.tolist() == [(1 << 32) + 1, (3 << 32) + 3, (5 << 32) + 5, 0]


@triton.jit
def counters_kernel(out_ptr, many, few):
    wide = tl.full((), 0, tl.int64)
    for i in range(few, few + 1):
        tl.store(out_ptr, i * many)
    for i in range(wide + few, few + 1):
        tl.store(out_ptr + 1, i * many)


def test_a_counter_has_the_bits_of_its_bounds():
    out = torch.zeros(2, dtype=torch.int64)
    with Emulator() as emulator:
        counters_kernel[(1,)](out, 2**30, 3)
    assert out.tolist() == [3 * 2**30 - 2**32, 3 * 2**30]
    assert [hint.kind for hint in emulator.hints] == ["wrapped-integer"]


@triton.jit
def read_twice_kernel(x_ptr, y_ptr, N, stride, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK) * stride
    mean = tl.sum(tl.load(x_ptr + offsets)) / N
    tl.store(y_ptr + offsets // stride, tl.load(x_ptr + offsets) - mean)


@pytest.mark.parametrize("stride", [1, 3, 1000])
def test_a_second_load_of_an_address_counts_again(stride):
    x, y = torch.randn(32 * stride), torch.zeros(32)
    with Emulator() as emulator:
        read_twice_kernel[(1,)](x, y, 32, stride, BLOCK=32)
    assert emulator.traffic["x_ptr"] == {"loaded": 2 * 128, "stored": 0}


@pytest.mark.parametrize("offsets", [[7], [1, 2, 3], [3, 2, 1], [5, 5, 5], [0, 10**9, 0, 4], [4, 1, 4, 1, 9]])
def test_distinct_elements_are_counted(offsets):
    assert distinct(np.array(offsets)) == len(set(offsets))
