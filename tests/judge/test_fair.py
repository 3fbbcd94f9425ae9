"""Verdicts that were wrong once: answers that are right and were refused, and what was said of those that are wrong."""

import pytest
import torch
from answers import Unwatched
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.checking.judge import judge
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.runner import Answer, Cell
from torch.nn import functional as F


def case_named(report, name):
    return next(c for c in report.cases if c.name == name)


def test_a_gradient_of_stride_0_is_compared():
    """What the derivative of ``sum`` hands back for no rows is contiguous for PyTorch, and has stride 0."""

    def token_mean(loss, labels, ignore_index=-100, num_items=None):
        keep = labels != ignore_index
        items = keep.sum() if num_items is None else num_items
        return torch.where(keep, loss, 0.0).sum() / items if items else loss.sum() * 0.0

    report = check("token_mean", token_mean, backend="torch")
    assert case_named(report, "no rows").status == "pass", str(report)


def test_an_advantage_may_be_computed_group_by_group():
    """Which are float32, and of which a group has at least one."""

    def group_advantage(rewards, eps=1e-6):
        y = torch.zeros_like(rewards)
        for row, group in enumerate(rewards):
            scored = ~group.isnan()
            r = group[scored]
            if len(r) and r.amax() > r.amin():
                y[row, scored] = (r - r.mean()) / (r.std() + eps)
        return y

    report = check("group_advantage", group_advantage, backend="torch")
    assert report.score == 1, str(report)


def test_swiglu_at_infinity_may_be_pytorchs_own():
    def forward(gate, up):
        return (F.silu(gate.float()) * up.float()).to(gate.dtype)

    def backward(dy, gate, up):
        g, u = gate.float().requires_grad_(), up.float().requires_grad_()
        gradients = torch.autograd.grad(F.silu(g) * u, (g, u), dy.float())
        return tuple(one.to(gate.dtype) for one in gradients)

    for name, function in (("swiglu_forward", forward), ("swiglu_backward", backward)):
        report = judge(EXERCISES[name], Unwatched(function), Settings("torch"))
        assert report.passed, str(report)


def test_a_nan_at_infinity_is_still_wrong_where_pytorch_has_none():
    def forward(gate, up):
        y = (F.silu(gate.float()) * up.float()).to(gate.dtype)
        return y.masked_fill(gate == torch.inf, torch.nan)

    report = judge(EXERCISES["swiglu_forward"], Unwatched(forward), Settings("torch"))
    assert case_named(report, "infinity and NaN").status == "fail"


CONSTANT = torch.full((1, 4), 0.1)
SMALL = torch.tensor([[1, -1, 2, -2, 0.5, -0.5, 0, 0]]) * 1e-3


@pytest.mark.parametrize(
    "x", [SMALL, SMALL.half(), SMALL + 0.25, torch.tensor([[1e-3, -1e-3]] * 3), CONSTANT, CONSTANT.half()]
)
def test_a_natural_witness_of_burns_epsilon_is_one(x):
    n = x.shape[1]
    weight, bias = torch.ones(n, dtype=x.dtype), torch.zeros(n, dtype=x.dtype)
    report = check("layer_norm_witness", lambda: (x, weight, bias))
    assert report.passed, str(report)


def test_what_a_refused_call_gets_right_is_no_evidence_of_a_bug():
    """Of a batch with a bad label, every other row is right in any answer, and so in any wild bug."""

    def silent(logits, labels, ignore_index=-100):
        bad = (labels < 0) | (labels >= logits.shape[1]) | (labels == ignore_index)
        own = logits.gather(1, labels.masked_fill(bad, 0)[:, None])[:, 0]
        return own.masked_fill(bad, 0)

    report = check("label_logits", silent, backend="torch")
    refused = {case.name for case in EXERCISES["label_logits"].cases if case.raises}
    assert {c.name for c in report.cases if c.status == "fail"} == refused
    assert refused
    assert report.fingerprint is None


def test_a_refused_call_is_evidence_where_its_values_are_wrong():
    """The next row's first logit, and nothing else is wrong with it."""

    def next_row(logits, labels, ignore_index=-100):
        return EXERCISES["label_logits"].wild[0].function(logits, labels, ignore_index)

    report = check("label_logits", next_row, backend="torch")
    assert EXERCISES["label_logits"].wild[0].who in report.fingerprint


WIDE = """
@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)ROW
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / N
    d = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(d * d, axis=0) / N + eps)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + row * N + cols, (d * rstd * w + b).to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


def layer_norm_forward(x, weight, bias, eps=1e-5):
    x = x if x.stride(1) == 1 else x.contiguous()
    (M, N), stats = x.shape, {"dtype": torch.float32, "device": x.device}
    y = torch.empty((M, N), dtype=x.dtype, device=x.device)
    mean, rstd = torch.empty(M, **stats), torch.empty(M, **stats)
    if M:
        block = triton.next_power_of_2(N)
        layer_norm_kernel[(M,)](x, weight, bias, y, mean, rstd, x.stride(0), N, eps, BLOCK=block)
    return y, mean, rstd


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, N, row_stride, col_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)ROW
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * row_stride + cols * col_stride, mask=cols < N, other=0.0).to(tl.float32)
    tl.store(out_ptr + row, tl.sum(total, axis=0).to(out_ptr.dtype.element_ty))


def row_sum(x):
    out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    if x.shape[0]:
        row_sum_kernel[(x.shape[0],)](x, out, x.shape[1], *x.stride(), BLOCK=1024)
    return out
"""
SETUP = Cell("setup", "import torch\nimport triton\nimport triton.language as tl\n")
BEYOND = "offsets beyond 2^31"


def wide(exercise, row):
    return Answer(exercise, (SETUP, Cell("answer", WIDE.replace("ROW", row))))


@pytest.mark.parametrize("isolated", [pytest.param(False, marks=pytest.mark.exhaustive), True])
@pytest.mark.parametrize("exercise", [pytest.param("layer_norm_forward", marks=pytest.mark.exhaustive), "row_sum"])
def test_a_row_offset_of_32_bits_is_seen(exercise, isolated, worker):
    where = worker if isolated else None
    wrong = check_answer(wide(exercise, ""), Settings("triton", compiler=False), worker=where)
    assert [c.name for c in wrong.cases if c.status in ("fail", "error") and not c.bonus] == [BEYOND], str(wrong)
    assert "outside" in case_named(wrong, BEYOND).message or "before" in case_named(wrong, BEYOND).message
    right = check_answer(wide(exercise, ".to(tl.int64)"), Settings("triton", compiler=False), worker=where)
    assert right.passed, str(right)
