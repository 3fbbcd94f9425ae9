"""Floating-point numbers in PyTorch: how far apart are two of them?

Read as an integer, the bit pattern of a positive number counts the numbers below it: the next number's pattern is one
more. Negative numbers have the sign bit set and count downwards. IEEE 754-2008, section 3.4; Dawson 2012, "Comparing
floating point numbers".
"""

import torch


# %% mismatches
def mismatches(actual: torch.Tensor, expected: torch.Tensor, tolerance: float) -> torch.Tensor:
    """How many elements of actual are not shown to lie within tolerance of expected: one int64, without dimensions.

    Both float32, of one shape; tolerance a number from 0 on. Equal infinities are within it, and NaN never is.

    Strides: any for actual and expected.
    """
    right = (actual == expected) | ((actual - expected).abs() <= tolerance)  # inf - inf is NaN
    return (~right).sum()


# %% ulp_distance
def ulp_distance(actual: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """How many steps from one representable number to the next lead from actual to expected, elementwise, in int64.

    Both of one shape and one dtype: float32, float16 or bfloat16. Equal numbers are 0 apart, and so are 0 and -0;
    infinity is one step after the largest number. Where either is NaN: 2^63 - 1, which no tolerance admits.

    Strides: any for actual and expected.
    """
    integer = torch.int32 if actual.dtype == torch.float32 else torch.int16

    def place(x):  # ..., -2, -1, 0, 1, 2, ... from -infinity to infinity, in int64, where no difference overflows
        bits = x.contiguous().view(integer).long()
        return torch.where(bits < 0, torch.iinfo(integer).min - bits, bits)

    distance = (place(actual) - place(expected)).abs()
    return distance.masked_fill(actual.isnan() | expected.isnan(), torch.iinfo(torch.int64).max)
