"""What the chapters measure: counts that can be worked out by hand."""

import torch
import triton
import triton.language as tl
from graded_kernels.course.measure import bytes_moved, compiled, flops, peak_bytes


def test_peak_counts_what_lives_at_once_and_not_the_arguments():
    def function(x):
        first = x + 1  # 400 bytes, gone with the next line
        first = None  # noqa: F841
        return x * 2, x * 3  # 800 bytes

    assert peak_bytes(function, torch.zeros(100)) == 800
    assert peak_bytes(lambda x: None, torch.zeros(100)) == 0


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(y_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)


def test_bytes_are_those_of_the_lanes_that_the_mask_lets_through():
    x = torch.zeros(10)
    assert bytes_moved(lambda: double_kernel[(3,)](x, torch.empty(10), 10, BLOCK=4)) == 2 * 10 * 4


def test_the_peak_is_of_what_a_launcher_makes():
    def launched(x):
        y = torch.empty_like(x)
        double_kernel[(3,)](x, y, 10, BLOCK=4)
        return y

    assert peak_bytes(launched, torch.zeros(10)) == 40


@triton.jit
def flops_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = tl.exp(x) * 2.0 + x  # 3 an element
    y = tl.where(x > 0, y, 0.0)
    tl.store(y_ptr + at, tl.fma(y, x, x))  # 2
    tl.store(y_ptr, tl.sum(x) / 4.0)  # BLOCK - 1, and 1


def test_flops_are_those_of_all_lanes_of_all_programs():
    x, y = torch.ones(32), torch.empty(32)
    assert flops(lambda: flops_kernel[(2,)](x, y, BLOCK=16)) == 2 * (5 * 16 + 15 + 1)


@triton.jit
def square_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, tl.dot(x, x, input_precision="ieee"))


def test_a_product_has_two_flops_a_pair():
    x = torch.ones(16, 16)
    assert flops(lambda: square_kernel[(1,)](x, torch.empty(16, 16), N=16)) == 2 * 16**3


def test_each_different_launch_has_its_row_of_the_compiler():
    def launched():
        for block in (256, 1024, 256):
            double_kernel[(4,)](torch.zeros(1024), torch.empty(1024), 1024, BLOCK=block)

    narrow, wide = compiled(launched)
    assert (narrow["load_bits"], wide["load_bits"]) == (64, 128)
    assert narrow["registers"] > 0 and wide["spills"] == 0
    assert "BLOCK=256" in narrow["launch"]
