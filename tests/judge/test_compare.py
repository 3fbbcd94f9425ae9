"""A function judged by its reference alone: what is said, what is let pass, and what cannot be compared."""

import pytest
import torch
import torch.nn.functional as F
from compared import FEW, SIZES_ALONE, careful, draw, failing, not_run, overflowing, softmax
from graded_kernels.autograder import CompareError, compare
from side_by_side_kernels import (
    softmax_without_other,
    summed_without_other,
)
from torch import nn


def test_a_right_candidate_passes():
    report = compare(softmax, careful, draw(5, 40))
    assert report.passed and report.correct, str(report)
    assert report.score == 1
    assert "derived" in report.tolerance
    assert len(report.cases) > 25


def test_what_is_wrong_is_said_with_the_family():
    report = compare(softmax, overflowing, draw(5, 40), without=FEW, gradients=False)
    assert not report
    assert {"large values", "very large values", "far from zero"} <= failing(report)
    assert "the example" not in failing(report)
    shown = str(report)
    assert "exp of them overflows" in shown and "result = nan" in shown
    assert 0.5 < report.score < 1 and "of the points" not in shown


def test_the_lines_that_repeat_a_failure_do(capsys):
    """Where both are functions of a module they are named; the example is a variable of whoever reads them."""
    report = compare(softmax, overflowing, draw(5, 40), seed=3, without=FEW, gradients=False)
    case = next(case for case in report.cases if case.name == "large values")
    assert len(case.repeat.splitlines()) == 3
    exec(case.repeat, {"arguments": draw(5, 40)})
    shown = capsys.readouterr().out.replace("tensor(", "").replace(", dtype=torch.float64)", "").replace(")", "")
    got, right = map(float, shown.split())
    assert got != got and case.failure.got != case.failure.got  # NaN
    assert right == pytest.approx(case.failure.expected, abs=5e-5)


def test_a_wrong_kernel_is_explained():
    report = compare(softmax, softmax_without_other, draw(5, 40), without=FEW, compiler=False)
    assert "the example" in failing(report) and report.correct is False


def test_what_the_reference_refuses_is_left_out_and_said():
    def pairs(x):
        if x.shape[-1] % 2:
            raise ValueError("an even number of columns")
        return x.unflatten(-1, (-1, 2)).sum(-1)

    report = compare(pairs, lambda x: x[..., ::2] + x[..., 1::2], draw(5, 8), without=SIZES_ALONE, gradients=False)
    assert report, str(report)
    assert all("dimension 1" not in case.name for case in report.cases)

    def few(x):
        if x.shape[0] > 1000:
            raise ValueError("too many rows")
        return x * 2

    report = compare(few, lambda x: x + x, draw(5, 8), without=SIZES_ALONE, gradients=False)
    assert "the reference raises ValueError: too many rows" in not_run(report).values()


@pytest.mark.parametrize("require", [("correct",), ("correct", "portable")])
def test_the_score_is_of_what_is_required(require):
    report = compare(lambda x: x.sum(), summed_without_other, draw(5, 40), without=FEW, require=require, compiler=False)
    assert report.correct and report.portable is False
    assert report.passed is (report.score == 1) is (require == ("correct",)), str(report)


def test_a_candidate_may_refuse_layouts_and_dtypes():
    def contiguous(x):
        assert x.is_contiguous(), "contiguous inputs only"
        return careful(x)

    report = compare(softmax, contiguous, draw(5, 40), without=FEW, gradients=False)
    assert report and "contiguous inputs only" in not_run(report)["transposed"]


def test_modules_compute_with_the_same_parameters():
    torch.manual_seed(0)

    class Renamed(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.b = nn.Parameter(torch.zeros(4, 8)), nn.Parameter(torch.zeros(4))

        def forward(self, x):  # rounded once, as `addmm` does
            return (x.float() @ self.w.float().T + self.b.float()).to(x.dtype)

    class Unbiased(Renamed):
        def forward(self, x):
            return x @ self.w.T

    assert compare(nn.Linear(8, 4), Renamed(), draw(5, 8), without=FEW, gradients=False)
    assert not compare(nn.Linear(8, 4), Unbiased(), draw(5, 8), without=FEW, gradients=False)


def test_the_same_seed_gives_the_same_verdict():
    how = {"without": FEW, "gradients": False}
    first, second = (compare(softmax, overflowing, draw(5, 40), seed=7, **how) for _ in range(2))
    assert first.to_dict()["cases"] == second.to_dict()["cases"]


OPERATORS = {
    "layer_norm": (lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), (draw(5, 33), draw(33), draw(33))),
    "gelu": (F.gelu, (draw(5, 33),)),
    "cross_entropy": (lambda x, y: F.cross_entropy(x, y), (draw(5, 33), torch.tensor([0, 32, 7, 7, 3]))),
    "attention": (F.scaled_dot_product_attention, (draw(1, 2, 9, 8), draw(1, 2, 11, 8), draw(1, 2, 11, 8))),
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1), (draw(2, 3, 9, 9), draw(4, 3, 3, 3))),
    "logsumexp": (lambda x: torch.logsumexp(x, -1), (draw(5, 33),)),
    "var": (lambda x: x.var(-1), (draw(5, 33),)),
    "cumsum": (lambda x: x.cumsum(-1), (draw(5, 33),)),
    "max_pool": (lambda x: F.max_pool1d(x, 3), (draw(2, 5, 33),)),
    "silu": (F.silu, (draw(5, 33),)),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", OPERATORS)
def test_pytorch_is_right_beside_itself(name):
    function, example = OPERATORS[name]
    report = compare(function, function, example, any_method=True)
    assert report, str(report)


@pytest.mark.parametrize(
    ("reference", "candidate", "arguments", "says"),
    [
        (softmax, careful, None, "arguments="),
        (softmax, careful, 3, "should be a tensor or a tuple"),
        (softmax, careful, (3,), "no tensor among the arguments"),
        (softmax, careful, lambda a, b, c: draw(3, 4), "of nothing, of a seed, or of a seed and a size"),
        (lambda x: x.nothing(), careful, draw(3, 4), "the reference raises on the example.*AttributeError"),
        (lambda x: 3, careful, draw(3, 4), "returns int among its results"),
        (lambda x: None, careful, draw(3, 4), "returns no tensor and writes none"),
        (lambda x: F.dropout(x), careful, draw(3, 4), "not deterministic.*eval"),
        (softmax, lambda x, y: x, draw(3, 4), "does not take the 1 arguments"),
        (3, careful, draw(3, 4), "the reference should be a function"),
        (softmax, nn.Linear(4, 4), draw(3, 4), "different parameters"),
    ],
)
def test_what_cannot_be_compared(reference, candidate, arguments, says):
    with pytest.raises(CompareError, match=says):
        compare(reference, candidate, arguments)


def test_like_an_exercise():
    assert compare(F.silu, lambda x: x * torch.sigmoid(x), like="silu", gradients=False).cases
    with pytest.raises(CompareError, match="no exercise sillu"):
        compare(F.silu, F.silu, like="sillu")


def test_a_function_of_a_seed_and_a_size():
    report = compare(softmax, careful, lambda seed, size: (torch.randn(3, size),), gradients=False)
    assert report, str(report)
    assert {"size 1", "size 1031"} <= {case.name for case in report.cases}


def by_rows(x):
    return careful(x) * (1 + 2e-7 * (len(x) > 1))


def test_rows_are_asked_beside_the_values():
    """A softmax scaled by the number of rows: right to the tolerance, and other bits alone than among five."""
    report = compare(softmax, by_rows, draw(5, 40), without=FEW, neighbours=("x",))
    assert report.correct and report.neighbours and not report.passed, str(report)
    assert report.to_dict()["neighbours"]["found"][0]["called"] == "row 0 alone"
    assert report.summary.endswith("a row's result depends on the rows beside it")
    assert "row 0 alone (1 row)" in str(report) and "row 0 alone (1 row)" in report._repr_html_()


def test_a_candidate_whose_rows_stand_alone_passes():
    report = compare(softmax, careful, draw(5, 40), without=FEW, neighbours=[0])
    assert report.passed and report.to_dict()["neighbours"]["passed"], str(report)


@pytest.mark.parametrize("more", [{"isolated": True}, {"arguments": None, "like": "masked_softmax"}])
def test_rows_are_asked_of_an_example_in_this_process(more):
    with pytest.raises(CompareError, match="in this process"):
        compare(softmax, careful, **{"arguments": draw(5, 40)} | more, neighbours=("x",))
