"""Results that nobody wrote are called that: how many, by how many programs, and what those wrote."""

import pytest
import torch
import triton
import triton.language as tl
from compared import FEW
from graded_kernels.autograder.judge.side_by_side import compare

ONE_PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def sum_kernel(x_ptr, sums_ptr, row_stride, column_stride, N, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < N, other=0.0)
    tl.store(sums_ptr + row, tl.sum(x.to(tl.float32), 0))

def row_sum(x):
    sums = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    sum_kernel[(1,)](x, sums, *x.stride(), x.shape[1], BLOCK=triton.next_power_of_2(max(x.shape[1], 1)))
    return sums
"""
SAYS = (
    "36 elements of sums (37 in all) were never written; the first is at index (1,). `sum_kernel` ran 1 program, which "
    "wrote 1 element, at index (0,)."
)


@pytest.mark.parametrize("options", [[], ["--in-process"]])
def test_a_check_says_how_many_programs_ran_and_what_they_wrote(tmp_path, called, options):
    file = tmp_path / "row_sum.py"
    file.write_text(ONE_PROGRAM)
    shown = " ".join(called("check", "row_sum", file, "--backend", "triton", *options).stdout.split())
    assert SAYS in shown, shown
    assert "step by step" not in shown


@triton.jit
def add_one_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0) + 1, mask=i < n)


def without_the_last_block(x):
    y = torch.empty_like(x)
    add_one_kernel[(x.numel() // 128,)](x, y, x.numel(), BLOCK=128)
    return y


def test_a_comparison_in_process_says_it_too():
    few = {"without": FEW, "gradients": False, "compiler": False}
    report = compare(lambda x: x + 1, without_the_last_block, torch.randn(3, 100), **few)
    message = report.causes[0].cases[0].message
    assert "44 elements of result (300 in all) were never written" in message, message
    assert "`add_one_kernel` ran 2 programs, which wrote 256 elements, from index (0, 0) to (2, 55)" in message


def test_memory_that_a_candidate_lets_go_is_no_unwritten_result():
    def positive(x):
        torch.empty(x.shape, dtype=torch.bool)
        return x > 0

    report = compare(lambda x: x > 0, positive, torch.ones(3, 100), compiler=False, any_method=True)
    assert report.passed, str(report)
