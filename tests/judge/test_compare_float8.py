"""float8 beside its reference: widened exactly, rounded to the number itself, drawn within its range."""

import pytest
import torch
import triton
import triton.language as tl
from compared import FEW, NO_VALUES
from graded_kernels.autograder.judge.side_by_side import Code, CompareError, compare
from turns import one_in

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


@triton.jit
def row_kernel(x_ptr, s_ptr, o_ptr, n, CHOP: tl.constexpr, TAIL: tl.constexpr, NAN: tl.constexpr, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n - TAIL, other=0.0).to(tl.float32)
    if NAN:
        x = tl.where(x == x, x, 0.0)
    y = x * tl.load(s_ptr + row)
    if CHOP:
        y = (y.to(tl.int32, bitcast=True) & -1048576).to(tl.float32, bitcast=True)
    tl.store(o_ptr + row * n + c, y.to(o_ptr.dtype.element_ty), mask=c < n)


def times(dtype, chopped=False, tail=0, nan_lost=False, factor=1.0):
    """A kernel of rows that it multiplies by a number each, and what may be wrong with it."""

    def candidate(x, s):
        x, s = x.contiguous(), (s * factor if factor != 1 else s).contiguous()
        o, n = torch.empty(x.shape, dtype=dtype or x.dtype), x.shape[1]
        if x.numel():
            block = triton.next_power_of_2(n)
            row_kernel[(len(x),)](x, s, o, n, CHOP=chopped, TAIL=tail, NAN=nan_lost, BLOCK=block)
        return o

    return candidate


def given(dtype, rows=9):
    make = torch.Generator().manual_seed(0)
    return torch.randn(rows, 20, generator=make).to(dtype), torch.rand(rows, 1, generator=make)


def judged(reference, candidate, arguments, **options):
    """The report, without other sizes unless they are asked for."""
    usual = {"compiler": False, "gradients": False, "without": ("dimension",)}
    return compare(reference, candidate, arguments, **usual | options)


def dequantized(x, s):
    return x.to(torch.float32) * s


def quantized(x, s):
    return (x * s).to(E4M3)


def rescaled(x, s):
    return (x.float() * s).to(x.dtype)


def by_its_bits(x, s):
    bits = x.view(torch.uint8).int()
    exponent, fraction = (bits >> 3) & 15, bits & 7
    value = torch.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * torch.exp2((exponent - 10).float()))
    value = torch.where((bits & 127) == 127, torch.nan, value * (1 - 2 * (bits >> 7)))
    return value * s


RIGHT = {
    "from e4m3": (dequantized, torch.float32, given(E4M3)),
    "from e5m2": (dequantized, torch.float32, given(E5M2)),
    "to e4m3": (quantized, E4M3, given(torch.float32)),
    "to e5m2": (lambda x, s: (x * s).to(E5M2), E5M2, given(torch.float32)),
    "e4m3 to e4m3": (rescaled, None, given(E4M3)),
    "e5m2 to e5m2": (rescaled, None, given(E5M2)),
    "read by its bits": (by_its_bits, torch.float32, given(E4M3)),
}


@pytest.mark.parametrize("right", one_in(4, ((name,) for name in RIGHT)))
def test_float8_is_judged(right):
    reference, dtype, arguments = RIGHT[right]
    report = judged(reference, times(dtype), arguments, without=())
    assert report.passed, str(report)
    assert not [case for case in report.cases if "cannot be drawn" in case.message]


WRONG = {
    "a scale": (dequantized, torch.float32, E4M3, {"factor": 1.01}),
    "the tail of a row": (dequantized, torch.float32, E4M3, {"tail": 1}),
    "NaN is lost": (dequantized, torch.float32, E4M3, {"nan_lost": True}),
    "to zero": (quantized, E4M3, torch.float32, {"chopped": True}),
    "to zero, from float8": (rescaled, None, E4M3, {"chopped": True}),
    "quantised by another scale": (quantized, E4M3, torch.float32, {"factor": 1.02}),
    "NaN is lost on the way": (quantized, E4M3, torch.float32, {"nan_lost": True}),
    "the tail, read by its bits": (by_its_bits, torch.float32, E4M3, {"tail": 1}),
}


@pytest.mark.parametrize("name", one_in(3, ((name,) for name in WRONG)))
def test_what_is_wrong_in_float8_is_refused(name):
    reference, dtype, kind, wrong = WRONG[name]
    report = judged(reference, times(dtype, **wrong), given(kind))
    assert not report.passed
    if "nan_lost" in wrong:
        assert [case.name for case in report.cases if case.status == "fail"] == ["NaN in x"], str(report)


def test_infinity_is_drawn_where_the_dtype_has_one():
    few = [name for name in NO_VALUES if name not in ("NaN", "infinity")]
    for dtype in (E4M3, E5M2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz):
        report = judged(dequantized, dequantized, given(dtype, 3), any_method=True, without=few)
        assert report.passed, str(report)
        assert ("infinity in x" in [case.name for case in report.cases]) is (dtype == E5M2)


def test_what_is_past_the_largest_number_may_saturate():
    """An e5m2 has infinity, which PyTorch gives; NVIDIA's conversion gives the largest number."""
    large = torch.full((3, 20), 1e5), torch.ones(3, 1)
    report = judged(lambda x, s: (x * s).to(E5M2), times(E5M2), large, without=("dimension", "NaN"))
    assert report.passed, str(report)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, s):
        ctx.save_for_backward(x)
        return x.float() * s

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return None, (dy * x.float()).sum(1, keepdim=True)


class ScaledTwice(Scaled):
    @staticmethod
    def backward(ctx, dy):
        return None, 2 * Scaled.backward(ctx, dy)[1]


def test_gradients_are_those_of_the_other_arguments():
    how = {"gradients": True, "any_method": True, "without": FEW}
    report = judged(dequantized, Scaled, given(E4M3), **how)
    assert report.passed, str(report)
    report = judged(dequantized, ScaledTwice, given(E4M3), **how)
    assert "ds is 2 times what is right" in " ".join(str(report).split()), str(report)


def test_float8_that_is_written_in_place():
    def reference(cache, k):
        cache[1:3] = k.to(cache.dtype)

    def one_row(cache, k):
        cache[1:2] = k[:1].to(cache.dtype)

    example, few = (given(E4M3)[0], torch.randn(2, 20)), ("dimension", "NaN", "infinity")
    assert judged(reference, reference, example, any_method=True, without=few).passed
    assert not judged(reference, one_row, example, any_method=True, without=few).passed


def test_bits_of_wider_numbers_are_read_as_they_are():
    """Widened to float64 a float32 has other bits, and twice as many integers."""

    def sign(x):
        return torch.where(x.view(torch.int32) < 0, -1, 1) * x.abs()

    report = judged(sign, lambda x: x.clone(), torch.randn(5, 9), any_method=True)
    assert report.passed, str(report)
    assert "The reference gets its arguments as they are" in " ".join(report.remarks)
    assert not judged(sign, lambda x: x.abs(), torch.randn(5, 9), any_method=True).passed


def test_a_reference_that_takes_neither_is_told_the_way():
    def product(a, b, s):
        return torch._scaled_mm(a, b.t().contiguous().t(), scale_a=s, scale_b=s, out_dtype=torch.float32)

    one = torch.ones(16, 16).to(E4M3)
    with pytest.raises(CompareError, match=r"write it out on x.float\(\)"):
        judged(product, product, (one, one, torch.ones(())))


TEXT = """
import torch, triton, triton.language as tl
@triton.jit
def row_kernel(x_ptr, s_ptr, o_ptr, n, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0).to(tl.float32) * tl.load(s_ptr + row)
    tl.store(o_ptr + row * n + c, x.to(tl.float8e4nv), mask=c < n)
def f(x, s):
    x, s, o = x.contiguous(), s.contiguous(), torch.empty(x.shape, dtype=torch.float8_e4m3fn)
    if x.numel():
        row_kernel[(len(x),)](x, s, o, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return o
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
def test_float8_goes_through_the_sandbox(wrong):
    text = TEXT.replace("c < n)", "c < n - 1)") if wrong else TEXT
    for reference, kind in ((rescaled, E4M3), (quantized, torch.float32)):
        report = judged(reference, Code(text, "f"), given(kind))
        assert report.passed is not wrong and report.computes == "kernels", str(report)


def unclamped(x, s):
    return (1e4 * x * s).to(E4M3)


def clamped(x, s):
    return (1e4 * x * s).clamp(-448, 448).to(E4M3)


def nan_above(x, s):
    y = 1e4 * x * s
    return torch.where(y.abs() > 464, torch.nan, y).to(E4M3)


@pytest.mark.parametrize("candidate", one_in(3, ((one,) for one in (clamped, nan_above, unclamped))))
def test_what_is_cast_beyond_the_largest_number_is_not_decided(candidate):
    """By no version of PyTorch, and it is said."""
    example, how = given(torch.float32), {"any_method": True, "without": FEW}
    report = judged(unclamped, candidate, example, **how)
    assert report.passed, str(report)
    assert "casts numbers beyond 448 to float8_e4m3fn" in " ".join(report.remarks)
    assert not judged(unclamped, lambda x, s: -clamped(x, s).float().to(E4M3), example, **how).passed
    assert not [remark for remark in judged(clamped, clamped, example, **how).remarks if "448" in remark]
