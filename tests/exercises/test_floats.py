"""Floats and tiles beyond the check: the oracle by another road, and the kernel without a mask."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from answers import SETUP, answer
from graded_kernels.autograder import check
from graded_kernels.autograder.exercises.floats import place
from graded_kernels.autograder.judge import EXERCISES
from graded_kernels.autograder.runner import Answer, Cell
from graded_kernels.kernels.wild.floats import axpy_no_mask

HALVES = (torch.float16, torch.bfloat16)


@pytest.mark.parametrize("dtype", HALVES)
def test_oracle_numbers_every_value_of_a_half_format_in_order(dtype):
    """All values sorted, the two zeros made one: their numbers are consecutive."""
    values = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(dtype)
    line = values[~values.isnan()].double().unique()
    assert torch.equal(place(line.to(dtype)), torch.arange(len(line), dtype=torch.float64) - len(line) // 2)


def test_oracle_agrees_with_numpys_steps_in_float32():
    x = np.float32([0.0, 1e-45, 1.1754942e-38, 1.1754944e-38, 0.9999999, 1.0, 3.4028235e38])
    with np.errstate(over="ignore"):
        after = np.nextafter(x, np.float32(np.inf))
    number = place(torch.from_numpy(after)) - place(torch.from_numpy(x))
    assert number.tolist() == [1.0] * len(x)
    assert place(torch.tensor([1.0, -1.0])).tolist() == [0x3F800000, -0x3F800000]


def test_kernel_without_a_mask_is_right_in_every_element_it_returns():
    """In memory of its own it passes any comparison; what it does to a neighbour, only the neighbour can tell."""
    memory = torch.full((3, 1024), 7.0)
    x, y, out = (row[:1000] for row in memory)
    x.copy_(torch.linspace(-3, 3, 1000)), y.copy_(torch.linspace(1, 2, 1000))
    axpy_no_mask(2.5, x, y, out)
    torch.testing.assert_close(out, 2.5 * x + y)
    assert (memory[:2, 1000:] == 7.0).all()  # 2.5 · 7 + 7
    assert (memory[2, 1000:] == 24.5).all()


def test_kernel_without_a_mask_is_caught_at_its_first_load():
    report = check("axpy", axpy_no_mask)
    first = next(case for case in report.cases if case.status != "pass")
    assert not report.passed
    assert (first.name, first.status) == ("three blocks and a rest", "fail")
    for part in ("x_ptr out of bounds in program (12, 0, 0)", "219 lanes", "The load has no mask"):
        assert part in first.message


def test_kernel_without_a_mask_passes_where_blocks_happen_to_fit():
    from graded_kernels.autograder.gpu import Emulator

    x, y = torch.linspace(-3, 3, 1024), torch.linspace(1, 2, 1024)
    with Emulator() as emulator:
        out = axpy_no_mask(2.5, x, y)
    torch.testing.assert_close(out, 2.5 * x + y)
    assert emulator.findings == ()


# What the chapter says that a first kernel may leave out, and what a case asks for.

START = "tl.program_id(0).to(tl.int64) * BLOCK"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (".to(tl.float32)", ""),
        pytest.param(".to(out_ptr.dtype.element_ty)", "", marks=pytest.mark.exhaustive),
        pytest.param(START, "tl.program_id(0) * BLOCK", marks=pytest.mark.exhaustive),
        ("mask = offsets < n", "mask = (offsets >= 0) and (offsets < n)"),
    ],
)
def test_what_a_first_kernel_may_leave_out(old, new):
    """It passes, and no note troubles a beginner: of a tensor of more than 2^31 elements, or of ``and``."""
    ours = answer("axpy", "triton")
    cell = ours.cells[-1]
    assert old in cell.source
    first = replace(ours, cells=(*ours.cells[:-1], replace(cell, source=cell.source.replace(old, new))))
    report = check("axpy", first.load())
    assert report.passed, str(report)
    assert not report.notes, str(report)


STRIDED = """
@triton.jit
def axpy_kernel(a, x_ptr, y_ptr, out_ptr, N, x_row, x_col, y_row, y_col, BLOCK: tl.constexpr):
    row = tl.program_id(0)WIDE
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_row + cols * x_col, mask=cols < N, other=0.0).to(tl.float32)
        y = tl.load(y_ptr + row * y_row + cols * y_col, mask=cols < N, other=0.0).to(tl.float32)
        tl.store(out_ptr + row * N + cols, a * x + y, mask=cols < N)


def axpy(a, x, y):
    if x.dim() != 2:
        return axpy(a, x.reshape(1, -1), y.reshape(1, -1)).reshape(x.shape)
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel():
        axpy_kernel[(len(x),)](float(a), x, y, out, x.shape[1], *x.stride(), *y.stride(), BLOCK=1024)
    return out
"""


def test_32_bits_are_refused_where_a_kernel_uses_strides():
    narrow, wide = (
        check("axpy", Answer("axpy", (SETUP, Cell("axpy", STRIDED.replace("WIDE", wide)))).load(), compiler=False)
        for wide in ("", ".to(tl.int64)")
    )
    assert [case.name for case in narrow.cases if case.status == "fail"] == ["offsets beyond 2^31"]
    assert "The offset wrapped around at 2^31" in narrow.causes[0].cases[0].message, str(wide)
    assert wide.passed, str(wide)


@pytest.mark.parametrize("dtype", HALVES)
def test_a_sum_in_half_precision_stands_still(dtype):
    """What the two cases of ones are for: candle's 2048 in float16, PyTorch 1.12's 256 in bfloat16."""
    case = next(c for c in EXERCISES["row_sum"].cases if c.name == f"ones in {str(dtype).removeprefix('torch.')}")
    (x,) = case.inputs(torch.Generator())
    total = torch.zeros(2, dtype=dtype)
    for column in x.t():
        total += column
    assert total.tolist() == [{torch.float16: 2048.0, torch.bfloat16: 256.0}[dtype]] * 2
    assert x.double().sum(-1).to(dtype).tolist() == [float(x.shape[1])] * 2
