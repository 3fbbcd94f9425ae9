"""The yardstick: distances in ulp against numbers worked out by hand and against the formats themselves."""

import math

import pytest
import torch
from graded_kernels.autograder.judge.records.inputs import draw
from graded_kernels.autograder.judge.records.ulp import ulp_error, ulp_size


@pytest.mark.parametrize(
    ("value", "dtype", "size"),
    [
        (1.0, torch.float32, 2.0**-23),
        (1.9, torch.float32, 2.0**-23),
        (0.999, torch.float32, 2.0**-24),
        (-3.0, torch.bfloat16, 2.0**-6),
        (300.0, torch.float16, 0.25),
        (0.0, torch.float32, 2.0**-149),
        (1e-45, torch.float32, 2.0**-149),
        (2.0**-126, torch.float32, 2.0**-149),
        (2.0**-25, torch.float16, 2.0**-24),
        (65504.0, torch.float16, 32.0),
        (1e9, torch.float16, 32.0),
    ],
)
def test_size_of_one_ulp(value, dtype, size):
    assert ulp_size(torch.tensor(value, dtype=torch.float64), dtype).item() == size


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_neighbours_are_one_ulp_apart(dtype):
    """All 65,536 values: the next larger one is 1 ulp away, measured at the lower magnitude of the two."""
    positive = draw.every_value(dtype).drawn(torch.Generator())[2**15 :]
    finite = positive[positive.isfinite()].double()
    distance = ulp_error(finite[1:].to(dtype), finite[:-1], dtype)
    assert distance.unique().tolist() == [1.0]


def test_half_an_ulp_is_what_rounding_costs():
    generator = torch.Generator().manual_seed(3)
    single = torch.randn(100_000, generator=generator) * 1e-6
    # PyTorch rounds float64 to a half by way of float32, so the halves start from numbers that float32 holds.
    for dtype, exact in (
        (torch.float32, single.double() / 3),
        (torch.float16, single.double()),
        (torch.bfloat16, single.double()),
    ):
        assert ulp_error(exact.to(dtype), exact, dtype).max() <= 0.5


@pytest.mark.parametrize(
    ("actual", "expected", "error"),
    [
        (math.nan, math.nan, 0.0),
        (math.nan, 1.0, math.inf),
        (1.0, math.nan, math.inf),
        (math.inf, math.inf, 0.0),
        (-math.inf, math.inf, math.inf),
        (3e38, math.inf, math.inf),
        (math.inf, 3e38, math.inf),
        (math.inf, 1e39, 0.0),
        (-0.0, 0.0, 0.0),
    ],
)
def test_nan_and_infinity(actual, expected, error):
    actual = torch.tensor([actual], dtype=torch.float32)
    assert ulp_error(actual, torch.tensor([expected], dtype=torch.float64), torch.float32).item() == error
