"""Gradients beside the reference's in float64: wrong, refused, undefined, or by a backward of the candidate's own."""

import pytest
import torch
import torch.nn.functional as F
from compared import FEW, NO_VALUES, SIZES_ALONE, draw, failing, not_run
from graded_kernels.autograder import CompareError, compare
from side_by_side_kernels import (
    Scaled,
    ScaledBadly,
)


@pytest.mark.parametrize(("candidate", "right"), [(Scaled, True), (ScaledBadly, False)])
def test_gradients_are_those_of_the_reference_in_float64(candidate, right):
    report = compare(lambda x, w: x.tanh() * w, candidate, (draw(5, 8), draw(8)), without=NO_VALUES, any_method=True)
    assert report.passed is right, str(report)
    if not right:
        assert "dw is wrong" in str(report)


def test_a_backward_of_its_own_is_compared():
    def backward(dy, x):
        s = torch.sigmoid(x.float())
        return (dy * (s * (1 + x.float() * torch.sigmoid(-x.float())))).to(x.dtype)

    def by_division(dy, x):
        y = F.silu(x.float())
        return (dy * (y / x + y / x * (1 - y / x) * x)).to(x.dtype)

    assert compare(F.silu, (F.silu, backward), draw(5, 8), without=FEW, any_method=True)
    assert "zeros" in failing(compare(F.silu, (F.silu, by_division), draw(5, 8), without=FEW))


def test_gradients_that_do_not_exist():
    report = compare(F.silu, lambda x: F.silu(x.detach()), draw(5, 8), without=NO_VALUES, any_method=True)
    assert report and any("Gradients are not compared" in remark for remark in report.remarks)
    with pytest.raises(CompareError, match="not attached"):
        compare(F.silu, lambda x: F.silu(x.detach()), draw(5, 8), gradients=True)


class ReadBack(torch.autograd.Function):
    """A loss whose gradient p - 1 is made of p as it was stored."""

    @staticmethod
    def forward(ctx, x, labels):
        log = torch.log_softmax(x.float(), -1)
        ctx.save_for_backward(log.exp().to(x.dtype), labels)
        return -log.gather(1, labels[:, None])[:, 0]

    @staticmethod
    def backward(ctx, dy):
        p, labels = ctx.saved_tensors
        return (dy[:, None] * (p.float() - F.one_hot(labels, p.shape[1]))).to(p.dtype), None


@pytest.mark.exhaustive
def test_a_label_that_is_nearly_certain():
    def loss(x, labels):
        return F.cross_entropy(x.float(), labels, reduction="none")

    example = (draw(6, 12), torch.tensor([0, 11, 3, 7, 7, 1]))
    report = compare(loss, ReadBack, example, without=("dimension", "labels all", "labels -100"))
    assert failing(report) == {"labels nearly certain, bfloat16"}, str(report)


def test_a_reference_without_a_gradient_somewhere():
    """Of no row it returns a constant, which has none."""

    def total(x):
        return x.square().sum() if len(x) else torch.zeros(())

    report = compare(total, lambda x: (x * x).sum(), draw(5, 8), without=SIZES_ALONE)
    assert report, str(report)
    assert "not attached to the graph" in not_run(report)["dimension 0 of x: 0"]


@pytest.mark.exhaustive
def test_a_gradient_that_overflows_is_not_judged():
    """Of x below 1e-38, that of x / |x| is above what float32 has: PyTorch's own is NaN there."""

    def normalized(x):
        return x / x.abs().mean(-1, keepdim=True)

    report = compare(normalized, normalized, draw(4, 8).abs(), without=FEW, any_method=True)
    assert report and "subnormal values" in {case.name for case in report.cases if case.status == "pass"}, str(report)
