"""Verdicts that were wrong once: answers that are right and were refused, and what was said of those that are wrong."""

import dataclasses

import pytest
import torch
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.check import judge
from graded_kernels.autograder.runner import InProcess
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


def test_swiglu_at_infinity_may_be_pytorchs_own():
    def forward(gate, up):
        return (F.silu(gate.float()) * up.float()).to(gate.dtype)

    def backward(dy, gate, up):
        g, u = gate.float().requires_grad_(), up.float().requires_grad_()
        gradients = torch.autograd.grad(F.silu(g) * u, (g, u), dy.float())
        return tuple(one.to(gate.dtype) for one in gradients)

    for name, function in (("swiglu_forward", forward), ("swiglu_backward", backward)):
        record = dataclasses.replace(EXERCISES[name], refused=frozenset())
        report = judge(record, "torch", InProcess(function, record, "torch"))
        assert report.passed, str(report)


def test_a_nan_at_infinity_is_still_wrong_where_pytorch_has_none():
    def forward(gate, up):
        y = (F.silu(gate.float()) * up.float()).to(gate.dtype)
        return y.masked_fill(gate == torch.inf, torch.nan)

    record = EXERCISES["swiglu_forward"]
    report = judge(dataclasses.replace(record, refused=frozenset()), "torch", InProcess(forward, record, "torch"))
    assert case_named(report, "infinity and NaN").status == "fail"


SMALL = torch.tensor([[1, -1, 2, -2, 0.5, -0.5, 0, 0]]) * 1e-3


@pytest.mark.parametrize("x", [SMALL, SMALL.half(), SMALL + 0.25, torch.tensor([[1e-3, -1e-3]] * 3)])
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
    assert {c.name for c in report.cases if c.status == "fail"} == {
        "a label of V",
        "a label far out of range",
        "a negative label",
    }
    assert report.fingerprint is None


def test_a_refused_call_is_evidence_where_its_values_are_wrong():
    """The next row's first logit, and nothing else is wrong with it."""

    def next_row(logits, labels, ignore_index=-100):
        return EXERCISES["label_logits"].wild[0].function(logits, labels, ignore_index)

    report = check("label_logits", next_row, backend="torch")
    assert EXERCISES["label_logits"].wild[0].who in report.fingerprint
