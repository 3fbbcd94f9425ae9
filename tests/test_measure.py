"""What the chapters measure: counts that can be worked out by hand."""

import torch
import triton
import triton.language as tl
from graded_kernels.course.measure import bytes_moved, peak_bytes


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


def test_the_peak_is_of_what_a_launcher_makes_and_not_of_the_interpreters_copies():
    def launched(x):
        y = torch.empty_like(x)
        double_kernel[(3,)](x, y, 10, BLOCK=4)
        return y

    assert peak_bytes(launched, torch.zeros(10)) == 40
