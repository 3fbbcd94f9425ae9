"""What a dtype holds: conversions, half precision, overflow; what the reference cannot say is not judged."""

import re

import pytest
import torch
import torch.nn.functional as F
from compared import FEW, careful, draw, failing, not_run, overflowing
from graded_kernels.autograder import compare


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


def test_what_the_reference_itself_cannot_is_left_out():
    how = {"without": ("infinity", "dimension"), "gradients": False, "any_method": True}
    report = compare(overflowing, careful, draw(5, 40), **how)
    assert "the reference itself overflows" in not_run(report)["large values"]
    assert report, str(report)


def test_squares_in_float16_overflow():
    def rms_norm(x):
        return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()

    how = {"without": ("dimension", "bfloat16"), "gradients": False}
    report = compare(lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-6), rms_norm, draw(5, 40), **how)
    assert failing(report) == {"float16, large values"}


def test_what_the_reference_rounds_itself_is_expected_and_named():
    """Also where gradients are compared: the conversion back in the derivative is no line of the reference."""

    def rounding(x):
        return (x.half() * 3).float().tanh()

    report = compare(rounding, rounding, draw(5, 8), without=FEW, any_method=True)
    (remark,) = [remark for remark in report.remarks if "rounds" in remark]
    line = rounding.__code__.co_firstlineno + 1
    place = f"line {line} of test_compare_rounding.py"
    assert remark == f"The reference rounds to float16 in {place}: its own result is what is expected."
    assert report.passed, str(report)
    assert not compare(rounding, lambda x: (x * 3).tanh(), draw(5, 8), without=FEW)


def test_a_reference_may_compute_in_half_precision():
    def rounded(x):
        return (x.half() * 2).to(x.dtype)

    report = compare(rounded, rounded, draw(5, 40), gradients=False)
    assert "rounds to float16 in line" in str(report)
    assert failing(report) == set(), str(report)
