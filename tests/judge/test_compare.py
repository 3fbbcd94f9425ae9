"""A function judged by its reference alone: what is found, what is let pass, and what cannot be compared."""

import re

import pytest
import torch
import torch.nn.functional as F
from graded_kernels.autograder import CompareError, compare
from graded_kernels.autograder.judge.side_by_side import inputs, reproduce
from graded_kernels.autograder.judge.side_by_side.reference import Reference
from graded_kernels.autograder.judge.side_by_side.sizes import dimensions_of
from graded_kernels.autograder.runner import Callee
from side_by_side_kernels import (
    Scaled,
    ScaledBadly,
    first_row_only,
    silu_derivative_launched,
    silu_launched,
    softmax_kernel_launched,
    softmax_without_other,
    summed_in_blocks,
    summed_without_other,
)
from torch import nn


def draw(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def softmax(x):
    return torch.softmax(x, -1)


def careful(x):
    e = (x.float() - x.float().amax(-1, keepdim=True)).exp()
    return (e / e.sum(-1, keepdim=True)).to(x.dtype)


def overflowing(x):
    e = x.float().exp()
    return (e / e.sum(-1, keepdim=True)).to(x.dtype)


# What is left out where it takes most of the time and shows nothing more: special values and dtypes, and sizes, too.
SIZES_ALONE = ("NaN", "infinity", "-infinity", "float16", "bfloat16")
FEW = ("dimension", *SIZES_ALONE)


def failing(report):
    return {case.name for case in report.cases if case.status in ("fail", "error")}


def not_run(report):
    return {case.name: case.message for case in report.cases if case.status == "not-run"}


def test_a_right_candidate_passes():
    report = compare(softmax, careful, draw(5, 40))
    assert report.passed and report.correct, str(report)
    assert report.score == 1
    assert "derived" in report.tolerance
    assert len(report.cases) > 25


def test_what_is_wrong_is_said_with_the_family():
    report = compare(softmax, overflowing, draw(5, 40), gradients=False)
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


def test_a_kernel_is_right_at_every_size_and_its_launches_are_compiled():
    report = compare(softmax, softmax_kernel_launched, draw(5, 40))
    assert report.passed, str(report)
    assert report.backend == "triton" and report.compile["status"] == "pass"
    assert report.remarks[0] == "Computes: in its own kernels."


def test_a_wrong_kernel_is_explained():
    report = compare(softmax, softmax_without_other, draw(5, 40), without=FEW, compiler=False)
    assert "the example" in failing(report) and report.correct is False


def test_programs_that_work_on_one_row_are_seen_by_size():
    report = compare(softmax, first_row_only, draw(1, 40), without=SIZES_ALONE, compiler=False)
    assert any(name.startswith("dimension 0 of x") for name in failing(report))
    assert "the example" not in failing(report)


@pytest.mark.parametrize(("candidate", "right"), [(Scaled, True), (ScaledBadly, False)])
def test_gradients_are_those_of_the_reference_in_float64(candidate, right):
    report = compare(lambda x, w: x.tanh() * w, candidate, (draw(5, 8), draw(8)), without=FEW, any_method=True)
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
    report = compare(F.silu, lambda x: F.silu(x.detach()), draw(5, 8), without=FEW, any_method=True)
    assert report and any("Gradients are not compared" in remark for remark in report.remarks)
    with pytest.raises(CompareError, match="not attached"):
        compare(F.silu, lambda x: F.silu(x.detach()), draw(5, 8), gradients=True)


def test_a_conversion_inside_the_reference_does_not_decide_how_exact_it_is():
    def reference(x):
        return (x.float() + 1e8).sum(-1).to(x.dtype) - 1e8 * x.shape[-1]

    report = compare(reference, lambda x: x.sum(-1), draw(5, 8), without=FEW, gradients=False)
    assert any(re.search(r"converts to float32 in line \d+ of test_compare", r) for r in report.remarks)
    rounded = compare(lambda x: x.to(torch.bfloat16).to(x.dtype), torch.clone, draw(5, 8), without=FEW, gradients=False)
    assert any("its own result is what is expected" in r for r in rounded.remarks) and not rounded


def attention(q, k, v):
    return (torch.softmax(q.float() @ k.float().mT, -1) @ v.float()).to(q.dtype)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("scale", "right"), [(1.0, True), (1.02, False)])
def test_factors_of_a_product_in_half_precision(scale, right):
    """As tensor cores get them, whatever the reference converts."""

    def rounding(q, k, v):
        p = torch.softmax(scale * (q.float() @ k.float().mT), -1).to(q.dtype)
        return (p.float() @ v.float()).to(q.dtype)

    example = tuple(t.to(torch.bfloat16) for t in (draw(6, 16), draw(20, 16), draw(20, 16)))
    report = compare(attention, rounding, example, without=("dimension", "float32"), any_method=True)
    assert ({"the example", "other numbers"} & failing(report) == set()) is right, str(report)


def test_what_the_dtype_cannot_hold_is_not_judged():
    def difference(x):
        square = x * x
        return square + (square - square)  # NaN, where it is infinite

    example = 300 * draw(5, 8).half()
    report = compare(lambda x: x * x, difference, example, without=("dimension",), any_method=True)
    assert "the example" not in failing(report)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("logits", "values", "right"), [([1000, 12], [1, -1], True), ([12, 0], [1e-3, 1], False)])
def test_factors_that_half_precision_cannot_hold(logits, values, right):
    """Where the right result is infinite, two of them may make it NaN. A finite one has to be right."""

    def weighted(s, v):
        return (s.float().exp() @ v.float()).to(s.dtype)

    def rounding(s, v):
        return (s.float().exp().to(s.dtype).float() @ v.float()).to(s.dtype)

    example = torch.tensor([logits]).half(), torch.tensor(values).half().view(2, 1)
    report = compare(weighted, rounding, example, gradients=False, any_method=True)
    assert ("the example" in failing(report)) is not right


def test_infinity_in_two_tensors_at_one_place():
    def gap(a, b):
        return (a - b).masked_fill((a == -torch.inf) & (b == -torch.inf), 0)

    example = (draw(5, 8), draw(5, 8))
    report = compare(gap, lambda a, b: a - b, example, without=("dimension",), gradients=False, any_method=True)
    assert failing(report) == {"-infinity in a and b"}, str(report)


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


def test_what_the_reference_itself_cannot_is_left_out():
    how = {"without": ("infinity", "dimension"), "gradients": False, "any_method": True}
    report = compare(overflowing, careful, draw(5, 40), **how)
    assert "the reference itself overflows" in not_run(report)["large values"]
    assert report, str(report)


@pytest.mark.parametrize("require", [("correct",), ("correct", "portable")])
def test_the_score_is_of_what_is_required(require):
    report = compare(lambda x: x.sum(), summed_without_other, draw(5, 40), without=FEW, require=require, compiler=False)
    assert report.correct and report.portable is False
    assert report.passed is (report.score == 1) is (require == ("correct",)), str(report)


def test_a_reference_without_a_gradient_somewhere():
    """Of no row it returns a constant, which has none."""

    def total(x):
        return x.square().sum() if len(x) else torch.zeros(())

    report = compare(total, lambda x: (x * x).sum(), draw(5, 8), without=SIZES_ALONE)
    assert report, str(report)
    assert "not attached to the graph" in not_run(report)["dimension 0 of x: 0"]


def test_a_candidate_may_refuse_layouts_and_dtypes():
    def contiguous(x):
        assert x.is_contiguous(), "contiguous inputs only"
        return careful(x)

    report = compare(softmax, contiguous, draw(5, 40), without=FEW, gradients=False)
    assert report and "contiguous inputs only" in not_run(report)["transposed"]


def test_a_candidate_may_not_refuse_sizes():
    def small(x):
        assert x.shape[0] < 1000
        return careful(x)

    report = compare(softmax, small, draw(5, 8), without=SIZES_ALONE, gradients=False)
    assert "dimension 0 of x: 1,031" in failing(report)


@pytest.mark.exhaustive
def test_a_list_of_tensors_is_an_argument():
    """As of a norm over all gradients: values and gradients."""

    def norm(tensors):
        return sum(t.float().square().sum() for t in tensors).sqrt()

    def in_one(tensors):
        return torch.cat([t.float().flatten() for t in tensors]).norm()

    def without_the_last(tensors):
        return norm(tensors[:-1])

    example = ([draw(5, 7), draw(30), draw(9)],)
    report = compare(norm, in_one, example)
    assert report and {"NaN in tensors", "bfloat16", "transposed"} <= {case.name for case in report.cases}, str(report)
    assert "the example" in failing(compare(norm, without_the_last, example, any_method=True))


def test_a_dimension_that_is_left_out_keeps_its_size_everywhere():
    def pairs(x, w):
        return x[..., ::2] * w + x[..., 1::2]

    def even(x, w):
        assert w.shape[0] == 4, "4 pairs alone"
        return pairs(x, w)

    example = (draw(3, 8), draw(4))
    how = {"gradients": False, "any_method": True}
    report = compare(pairs, even, example, without=SIZES_ALONE, **how)
    assert {"dimension 0 of w: 7", "zeros"} <= failing(report)
    assert '--without "dimension 0 of w" keeps the example\'s.' in " ".join(str(report).split())
    without = ("dimension 0 of w", "odd sizes")
    report = compare(pairs, even, example, without=(*without, *SIZES_ALONE), **how)
    assert report and "dimension 0 of x: 7" in {case.name for case in report.cases}, str(report)
    (args, *_) = reproduce(pairs, even, example, family="zeros", without=without)
    assert args[0].shape == (3, 8)


def test_sizes_that_belong_together_change_together():
    example, how = (draw(5, 6), draw(6, 7)), {"gradients": False, "any_method": True}
    report = compare(lambda a, b: a @ b, lambda a, b: torch.mm(a, b), example, without=SIZES_ALONE, **how)
    assert report, str(report)
    names = {case.name.partition(":")[0] for case in report.cases if case.name.startswith("dimension")}
    assert names == {"dimension 0 of a", "dimension 1 of a", "dimension 1 of b"}


def test_the_end_of_the_last_block_is_seen_where_each_size_alone_hides_it():
    def unfinished(x):
        y = F.silu(x)
        return torch.where(torch.arange(y.numel()).reshape(y.shape) < y.numel() // 16 * 16, y, 0)

    assert "odd sizes" in failing(compare(F.silu, unfinished, draw(16, 16), without=FEW, gradients=False))


def test_padding_that_only_negative_numbers_meet():
    def padded(x):
        return F.pad(x, (0, -x.shape[-1] % 16)).amax(-1)

    positive = compare(
        lambda x: x.amax(-1), padded, draw(4, 16).abs() + 1, without=("dimension", "NaN"), gradients=False
    )
    assert failing(positive) == {"other signs"}


@pytest.mark.exhaustive
def test_a_gradient_that_overflows_is_not_judged():
    """Of x below 1e-38, that of x / |x| is above what float32 has: PyTorch's own is NaN there."""

    def normalized(x):
        return x / x.abs().mean(-1, keepdim=True)

    report = compare(normalized, normalized, draw(4, 8).abs(), without=FEW, any_method=True)
    assert report and "subnormal values" in {case.name for case in report.cases if case.status == "pass"}, str(report)


@pytest.mark.exhaustive
def test_a_second_block_is_reached_where_the_longest_is_too_long():
    example = (draw(8, 16), draw(16, 16), draw(16, 16))
    names = {case.name for case in compare(F.scaled_dot_product_attention, naive_attention, example).cases}
    assert "dimension 1 of x0: 257" in names and "dimension 1 of x0: 1,031" not in names


def naive_attention(q, k, v):
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v


@pytest.mark.exhaustive
def test_longer_inputs_are_no_repetition():
    """The rounding errors of a sum of equal terms all lean one way: a right sum of 1,031 terms was refused."""

    def in_order(a, b):
        total = torch.zeros(a.shape[0], b.shape[1])
        for k in range(a.shape[1]):
            total = total + a[:, k : k + 1].float() * b[k].float()
        return total.to(a.dtype)

    report = compare(torch.mm, in_order, (draw(7, 16), draw(16, 5)), gradients=False)
    assert report and "dimension 1 of x0: 1,031" in {case.name for case in report.cases}, str(report)


def test_labels_reach_what_the_example_does_not():
    def nll(x, y):
        return F.cross_entropy(x, y, reduction="none")

    def as_a_label(x, y):
        return nll(x, y.clamp(min=0))

    def last_left_out(x, y):
        return nll(x, y.clamp(max=10))

    example = (draw(5, 12), torch.tensor([0, 3, 8, 5, 5]))
    how = {"without": FEW, "gradients": False}
    assert failing(compare(nll, as_a_label, example, **how)) == {"y all -100", "y -100 in places"}
    assert failing(compare(nll, last_left_out, example, **how)) == {"y all 11"}

    def mean(x, y, ignore_index=-100):
        kept = x.where(y != ignore_index, 0)
        return kept.sum() / (y != ignore_index).sum().clamp(min=1)

    report = compare(mean, lambda x, y: x.sum() / max(1, len(x)), (draw(9), torch.arange(9)), **how)
    assert failing(report) == {"y all -100", "y -100 in places"}
    report = compare(lambda x, y: x[y], lambda x, y: x.index_select(0, y), (draw(9, 4), example[1]), **how)
    assert report, str(report)  # a negative index, from the end, is none of a label's


def test_a_parameter_that_is_left_out():
    class Unscaled(nn.LayerNorm):
        def forward(self, x):
            return F.layer_norm(x, x.shape[-1:], None, None, self.eps)

    report = compare(nn.LayerNorm(8), Unscaled(8), draw(5, 8), without=FEW, gradients=False)
    assert failing(report) == {"other parameters"}


def test_squares_in_float16_overflow():
    def rms_norm(x):
        return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()

    how = {"without": ("dimension", "bfloat16"), "gradients": False}
    report = compare(lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-6), rms_norm, draw(5, 40), **how)
    assert failing(report) == {"float16, large values"}


def test_the_values_of_labels_of_few_kinds_stay():
    x, y = draw(6, 8), torch.tensor([1.0, -1, 1, 1, -1, 1, -1, -1])
    (_, drawn) = inputs(lambda x, y: x * y, (x, y), "dimension 1 of x: 1,031", 3)
    assert drawn.shape == (1031,) and set(drawn.tolist()) == {1, -1}


@pytest.mark.parametrize(
    ("function", "example", "dimensions"),
    [
        (lambda x, y: x * y, (draw(8, 8), draw(8, 8)), ["dimension 0 of x", "dimension 1 of x"]),
        (lambda x, w: x * w, (draw(8, 8), draw(8)), ["dimension 0 of x", "dimension 1 of x"]),
        (lambda x, y: F.cross_entropy(x, y), (draw(8, 8), torch.arange(8)), ["dimension 0 of x", "dimension 1 of x"]),
        (lambda x, y: x @ y, (draw(8, 8), draw(8, 8)), ["dimension 0 of x"]),
    ],
)
def test_equal_sizes_of_other_axes_change_alone(function, example, dimensions):
    reference = Reference(Callee.of(function, "reference"), example)
    assert [d.named(reference.names) for d in dimensions_of(example, reference.accepts)] == dimensions


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


def test_indices_go_to_both_ends():
    def clamped(index, table):
        return table[index.clamp(max=7)]

    example = (torch.tensor([0, 3, 8, 5, 5]), draw(9, 4))
    how = {"without": FEW, "gradients": False}
    assert "index all 8" in failing(compare(lambda index, table: table[index], clamped, example, **how))
    assert compare(lambda index, table: table[index], lambda index, table: table.index_select(0, index), example, **how)


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

    assert compare(nn.Linear(8, 4), Renamed(), draw(5, 8), without=FEW)
    assert not compare(nn.Linear(8, 4), Unbiased(), draw(5, 8), without=FEW)


def test_the_same_seed_gives_the_same_verdict():
    how = {"without": FEW, "gradients": False}
    first, second = (compare(softmax, overflowing, draw(5, 40), seed=7, **how) for _ in range(2))
    assert first.to_dict()["cases"] == second.to_dict()["cases"]


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


def test_what_the_reference_rounds_itself_is_expected_and_named():
    """Also where gradients are compared: the conversion back in the derivative is no line of the reference."""

    def rounding(x):
        return (x.half() * 3).float().tanh()

    report = compare(rounding, rounding, draw(5, 8), without=FEW, any_method=True)
    (remark,) = [remark for remark in report.remarks if "rounds" in remark]
    line = rounding.__code__.co_firstlineno + 1
    assert remark == (
        f"The reference rounds to float16 in line {line} of test_compare.py: its own result is what is expected."
    )
    assert report.passed, str(report)
    assert not compare(rounding, lambda x: (x * 3).tanh(), draw(5, 8), without=FEW)


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


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "gelu" else pytest.mark.exhaustive) for n in OPERATORS]
)
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


def test_names_of_families():
    with pytest.raises(CompareError, match="no family is named 'NaNs'"):
        compare(softmax, careful, draw(3, 4), without=("NaNs",))
    report = compare(softmax, careful, draw(3, 4), without=FEW, gradients=False)
    assert not any(case.name.startswith("NaN") for case in report.cases)
    with pytest.raises(CompareError, match="there is no family 'small'"):
        reproduce(softmax, careful, draw(3, 4), family="small")


def test_like_an_exercise():
    assert compare(F.silu, lambda x: x * torch.sigmoid(x), like="silu", gradients=False).cases
    with pytest.raises(CompareError, match="no exercise sillu"):
        compare(F.silu, F.silu, like="sillu")


def test_a_function_of_a_seed_and_a_size():
    report = compare(softmax, careful, lambda seed, size: (torch.randn(3, size),), gradients=False)
    assert report, str(report)
    assert {"size 1", "size 1031"} <= {case.name for case in report.cases}


def test_a_reference_may_compute_in_half_precision():
    def rounded(x):
        return (x.half() * 2).to(x.dtype)

    report = compare(rounded, rounded, draw(5, 40), gradients=False)
    assert "rounds to float16 in line" in str(report)
    assert failing(report) == set(), str(report)


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
