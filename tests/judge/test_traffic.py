"""The bytes that a kernel loads: as few as the mathematics needs are enough, and fewer are not."""

import torch
import triton
import triton.language as tl
from graded_kernels.autograder import check
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.judge.records.table import EXERCISES
from graded_kernels.autograder.runner import Answer, Cell, InProcess


@triton.jit
def held_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, mean_ptr, rstd_ptr, M, N, eps, BLOCK: tl.constexpr):
    """One program for all rows, which loads weight and bias once."""
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    for row in range(0, M):
        offsets = row.to(tl.int64) * N + cols
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        mean = tl.sum(x) / N
        d = tl.where(mask, x - mean, 0.0)
        rstd = tl.rsqrt(tl.sum(d * d) / N + eps)
        tl.store(y_ptr + offsets, (d * rstd * weight + bias).to(y_ptr.dtype.element_ty), mask=mask)
        tl.store(mean_ptr + row, mean)
        tl.store(rstd_ptr + row, rstd)


@triton.jit
def unread_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, mean_ptr, rstd_ptr, M, N, eps, BLOCK: tl.constexpr):
    """A program a row, which has no use for x but for its first element."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    first = tl.load(x_ptr + row * N + 0 * cols)
    tl.store(y_ptr + row * N + cols, first, mask=cols < N)
    tl.store(mean_ptr + row, 0.0)
    tl.store(rstd_ptr + row, 1.0)


def launched(kernel, programs, x, weight, bias, eps):
    x = x.contiguous()
    M, N = x.shape
    y, mean = torch.empty_like(x), torch.empty(M, dtype=torch.float32, device=x.device)
    rstd = torch.empty_like(mean)
    if x.numel():
        block = triton.next_power_of_2(N)
        kernel[(programs or M,)](x, weight, bias, y, mean, rstd, M, N, eps, BLOCK=block)
    return y, mean, rstd


def held(x, weight, bias, eps=1e-5):
    return launched(held_kernel, 1, x, weight, bias, eps)


def unread(x, weight, bias, eps=1e-5):
    return launched(unread_kernel, 0, x, weight, bias, eps)


def traffic_of(function):
    report = check("layer_norm_forward", function, backend="triton", compiler=False)
    return report, next(case for case in report.cases if case.name == "memory traffic")


def test_what_several_rows_share_may_be_loaded_once():
    report, case = traffic_of(held)
    assert report.passed, str(report)
    assert report.traffic["ratio"] < 0.7
    assert "where programs share nothing" in case.message


def test_a_result_does_not_follow_from_less_than_half_of_the_inputs():
    _, case = traffic_of(unread)
    assert case.status == "fail"
    assert "the result cannot follow from them" in case.message


@triton.jit
def kept_kernel(x_ptr, m_ptr, y_ptr, sx, cx, sm, cm, N, BLOCK: tl.constexpr):
    r, c = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    keep = tl.load(m_ptr + r * sm + c * cm, mask=c < N, other=0) != 0
    x = tl.load(x_ptr + r * sx + c * cx, mask=keep, other=-float("inf")).to(tl.float32)
    top = tl.max(x)
    e = tl.where(keep, tl.exp(x - tl.where(top == -float("inf"), 0.0, top)), 0.0)
    s = tl.sum(e)
    y = tl.where(s > 0, e / tl.where(s > 0, s, 1.0), 0.0)
    y = tl.where((tl.sum((x != x).to(tl.int32)) > 0) & keep, float("nan"), y)
    tl.store(y_ptr + r * N + c, y.to(y_ptr.dtype.element_ty), mask=c < N)


def kept(x, mask):
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if y.numel():
        block = triton.next_power_of_2(x.shape[1])
        kept_kernel[(len(x),)](x, mask, y, *x.stride(), *mask.stride(), x.shape[1], BLOCK=block)
    return y


def test_what_a_mask_makes_false_need_not_be_loaded():
    report = check("masked_softmax_forward", kept, backend="triton", compiler=False)
    assert report.passed, str(report)


COPIES = """
import torch
import triton
import triton.language as tl

@triton.jit
def copying_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    e = tl.exp(-tl.abs(x))
    s = tl.where(x < 0, e / (1 + e), 1 / (1 + e))
    y = tl.where(x == float("-inf"), 0.0, x * s)
    tl.store(y_ptr + i, y.to(y_ptr.dtype.element_ty), mask=i < n)

def silu_forward(x):
    x = x.contiguous()
    y = torch.zeros_like(x)
    if x.numel():
        copying_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y.clone()
"""


def test_copies_and_fills_outside_of_the_kernels_count(worker):
    """Half as much as the least for the zeros, as much as the least for the copy; in the sandbox, as the plan says."""
    answer = Answer("silu_forward", (Cell("cell", COPIES),))
    report = check_answer(answer, Settings("triton", compiler=False), worker=worker)
    case = next(case for case in report.cases if case.name == "memory traffic")
    assert case.status == "fail" and report.correct, str(report)
    assert "It moves 2.50 times the bytes" in case.message and "1.50 of it are PyTorch's copies" in case.message
    record = EXERCISES["silu_forward"]
    here = judge(record, InProcess.of(answer, record.contract, "triton"), Settings("triton", compiler=False))
    assert next(one for one in here.cases if one.name == "memory traffic") == case
