"""Floats and tiles. Cases: triton-lang/triton#1088, thunlp/TritonBench#12, huggingface/candle#3727."""

import math

import torch
from torch import Tensor

from ..judge import Exercise, Output, Tolerance
from .cases.floats import compared, pairs, rows, scaled
from .cases.rounding import EPS


def mismatches_oracle(actual: Tensor, expected: Tensor, tolerance: float) -> Tensor:
    """Returns the number of elements that are neither equal nor within ``tolerance``."""
    near = torch.isclose(actual, expected, rtol=0, atol=tolerance)
    return (~near).sum()


def place(x: Tensor) -> Tensor:
    """The number of x on the line of its format, 0 at zero, from its value alone; infinity is where the format ends."""
    info = torch.finfo(x.dtype)
    p = 2 - math.frexp(info.eps)[1]  # bits of precision: eps is 2^(1 - p)
    lowest, end = math.frexp(info.smallest_normal)[1], 2.0 ** math.frexp(info.max)[1]
    size = x.double().abs().clamp(max=end)
    _, exponent = torch.frexp(size.clamp(min=info.smallest_normal))  # size = m · 2^exponent with 1/2 <= m < 1
    gap = torch.ldexp(torch.ones_like(size), exponent - p)
    return torch.copysign((exponent - lowest) * 2.0 ** (p - 1) + size / gap, x.double())


def ulp_distance_oracle(actual: Tensor, expected: Tensor) -> Tensor:
    """Returns how many floats lie between two, elementwise; the largest int64 where one is NaN."""
    nowhere = actual.isnan() | expected.isnan()
    distance = (place(actual) - place(expected)).abs().masked_fill(nowhere, 0)
    return distance.long().masked_fill(nowhere, torch.iinfo(torch.int64).max)


mismatches = Exercise(
    name="mismatches",
    summary="how many elements are not shown to be within tolerance of what is expected",
    oracle=mismatches_oracle,
    outputs=(Output("count", torch.int64),),
    cases=compared(),
    hint="Find the elements that are right, and count the others.",
    backends=("torch",),
    points=1,
    upcast=False,
    refused=frozenset({"isclose", "allclose"}),
    about=("NaN", "infinities"),
)

ulp_distance = Exercise(
    name="ulp_distance",
    summary="how many representable numbers lie from actual to expected, elementwise",
    oracle=ulp_distance_oracle,
    outputs=(Output("distance", torch.int64),),
    cases=pairs(),
    hint="Read as integers, the bit patterns of two positive neighbours differ by 1.",
    backends=("torch",),
    points=3,
    upcast=False,
    about=("on both sides of zero", "the ends of the line"),
)

axpy = Exercise(
    name="axpy",
    summary="a · x + y",
    oracle=lambda a, x, y: a * x + y,
    outputs=(Output("out"),),
    cases=scaled(),
    tolerance=Tolerance(
        1,
        8,
        "One rounding at the end; in float32 one more of a · x, which may be large compared with the sum.",
        lambda a, x, y: (EPS * ((a * x).nan_to_num(posinf=0, neginf=0).abs() + y.abs()),),
    ),
    hint="Each program loads a block of x and a block of y, and stores a block.",
    backends=("triton",),
    points=3,
    least_bytes=lambda a, x, y: 3 * x.numel() * x.element_size(),
    traffic=1.05,
    notes=False,
    about=("three blocks and a rest", "one element", "odd shape, several blocks"),
)

row_sum = Exercise(
    name="row_sum",
    summary="the sum of every row, accumulated in float32",
    oracle=lambda x: x.sum(-1),
    outputs=(Output("sums"),),
    cases=rows(),
    tolerance=Tolerance(
        1,
        8,
        "Every addition in float32 rounds by half an ulp of what is summed so far: a few ulp of the sum of |x|.",
        lambda x: (8 * EPS * x.nan_to_num(posinf=0, neginf=0).abs().sum(-1),),
    ),
    hint="One program a row: add blocks to a block of float32 zeros, and tl.sum it at the end.",
    backends=("triton",),
    points=4,
    peer=lambda x: x.sum(-1),
    least_bytes=lambda x: (x.numel() + x.shape[0]) * x.element_size(),
    traffic=1.05,
    about=("ones in bfloat16", "many ones", "ones in float16", "beyond float16 on the way"),
)
