"""Sizes: each dimension in turn and together, the end of a block, padding, labels, and what stays as it is."""

import pytest
import torch
import torch.nn.functional as F
from compared import FEW, SIZES_ALONE, careful, draw, failing, softmax
from graded_kernels.autograder import CompareError, compare
from graded_kernels.autograder.judge.side_by_side import inputs, reproduce
from graded_kernels.autograder.judge.side_by_side.reference import Reference
from graded_kernels.autograder.judge.side_by_side.sizes import dimensions_of
from graded_kernels.autograder.runner import Callee
from side_by_side_kernels import (
    first_row_only,
    softmax_kernel_launched,
)
from torch import nn


def test_a_kernel_is_right_at_every_size_and_its_launches_are_compiled():
    report = compare(softmax, softmax_kernel_launched, draw(5, 40))
    assert report.passed, str(report)
    assert report.backend == "triton" and report.compile["status"] == "pass"
    assert report.remarks[0] == "Computes: in its own kernels."


def test_programs_that_work_on_one_row_are_seen_by_size():
    report = compare(softmax, first_row_only, draw(1, 40), without=SIZES_ALONE, compiler=False)
    assert any(name.startswith("dimension 0 of x") for name in failing(report))
    assert "the example" not in failing(report)


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


def test_indices_go_to_both_ends():
    def clamped(index, table):
        return table[index.clamp(max=7)]

    example = (torch.tensor([0, 3, 8, 5, 5]), draw(9, 4))
    how = {"without": FEW, "gradients": False}
    assert "index all 8" in failing(compare(lambda index, table: table[index], clamped, example, **how))
    assert compare(lambda index, table: table[index], lambda index, table: table.index_select(0, index), example, **how)


def test_names_of_families():
    with pytest.raises(CompareError, match="no family is named 'NaNs'"):
        compare(softmax, careful, draw(3, 4), without=("NaNs",))
    report = compare(softmax, careful, draw(3, 4), without=FEW, gradients=False)
    assert not any(case.name.startswith("NaN") for case in report.cases)
    with pytest.raises(CompareError, match="there is no family 'small'"):
        reproduce(softmax, careful, draw(3, 4), family="small")
