"""How a candidate computes: by the reference itself, by results kept or returned; arguments that are written."""

import pytest
import torch
import torch.nn.functional as F
from compared import FEW, SIZES_ALONE, careful, draw, failing, softmax
from graded_kernels.autograder import compare
from side_by_side_kernels import (
    silu_derivative_launched,
    silu_launched,
    summed_in_blocks,
)


def test_an_input_that_changes_and_one_that_is_returned():
    how = {"without": FEW, "gradients": False}
    report = compare(lambda x: x * 2, lambda x: x.mul_(2), draw(3, 4), **how)
    assert any("changed its input" in case.message for case in report.cases)
    report = compare(lambda x: x * 1, lambda x: x, draw(3, 4), **how)
    assert any("shares memory" in case.message for case in report.cases)


def test_what_is_kept_from_another_call():
    kept = {}

    def caching(x):
        return kept.setdefault(x.shape, careful(x.detach())).clone()

    assert failing(compare(softmax, caching, draw(5, 40), without=FEW))


def test_a_result_that_is_written():
    def reference(out, x):
        out.copy_(torch.softmax(x, -1))

    def right(out, x):
        out.copy_(careful(x))

    def wrong(out, x):
        out.copy_(careful(x)[:1])

    example = (torch.zeros(5, 8), draw(5, 8))
    report = compare(reference, right, example, without=FEW)
    assert report, str(report)
    assert not compare(reference, wrong, example, without=FEW)


def test_what_calls_the_reference_does_not_pass():
    how = {"without": FEW, "gradients": False}
    report = compare(softmax, lambda x: F.softmax(x, -1), draw(5, 8), **how)
    assert not report.passed and report.correct and report.score == 0 and report.computes == "no"
    assert report.remarks[0] == "Computes: no, it calls aten._softmax."
    assert "--any-method (any_method=True) lets that pass" in " ".join(str(report).split())
    report = compare(softmax, lambda x: F.softmax(x, -1), draw(5, 8), **how, any_method=True)
    assert report.passed and report.score == 1 and report.computes == "no"
    report = compare(softmax, careful, draw(5, 8), **how)
    assert report.passed and report.score == 1 and report.computes == "operators"
    report = compare(lambda x: x.sum(), summed_in_blocks, draw(5, 40), without=FEW, compiler=False)
    assert report.passed and report.score == 1 and report.computes == "partly"


class Silu(torch.autograd.Function):
    """In kernels. derivative: what its backward does."""

    derivative = silu_derivative_launched

    @classmethod
    def forward(cls, ctx, x):
        ctx.save_for_backward(x)
        return silu_launched(x)

    @classmethod
    def backward(cls, ctx, dy):
        return cls.derivative(dy, *ctx.saved_tensors)


class ByFormula(Silu):
    def derivative(dy, x):
        s = torch.sigmoid(x.float())
        return (dy * s * (1 + x * (1 - s))).to(x.dtype)


class ByTheReference(Silu):
    def derivative(dy, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad(F.silu(x), x, dy)[0]


HOW = {  # what a candidate does beside its kernels: how it computes, whether that passes, what is said
    "nothing": (Silu, "kernels", "in its own kernels"),
    "its derivative by a formula": (ByFormula, "partly", "its derivative calls aten.sigmoid"),
    "its forward and backward are two functions": ((silu_launched, ByFormula.derivative), "partly", "derivative calls"),
    "its derivative by the reference's": (ByTheReference, "no", "its derivative calls aten.silu_backward"),
    "the reference where gradients are asked for": (
        *(lambda x: F.silu(x) if x.requires_grad else silu_launched(x), "no", "calls aten.silu"),
    ),
    "the reference but on the example": (
        *(lambda x: Silu.apply(x) if x.shape == (5, 40) else F.silu(x), "no", "calls aten.silu"),
    ),
    "another formula but on the example": (
        *(lambda x: Silu.apply(x) if x.shape == (5, 40) else x * x.sigmoid(), "operators", "it calls aten.sigmoid"),
    ),
}


@pytest.mark.parametrize(
    ("candidate", "kind", "says"),
    [  # the two that would pass by the values and the example alone; the others by make test-all
        pytest.param(*row, id=name, marks=() if row[1] == "no" and "example" not in name else pytest.mark.exhaustive)
        for name, row in HOW.items()
    ],
)
def test_how_it_computes_is_the_worst_of_all_calls(candidate, kind, says):
    without = ("large", "very", "dimension 0", *SIZES_ALONE, "one", "the upstream", "transposed", "far", "other")
    report = compare(F.silu, candidate, draw(5, 40), without=without, compiler=False)
    assert report.correct and report.computes == kind and says in report.remarks[0], str(report)
    assert report.passed == (kind != "no")
