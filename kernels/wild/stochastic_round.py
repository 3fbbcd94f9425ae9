"""Float32 to bfloat16 at random, as it shipped, bug for bug, with the random bits that are given."""

import torch


def stochastic_round_carry(x, bits):
    """torchao, _fp32_to_bf16_sr: the upper half, plus 1 with the odds of the lower half, whatever number it is.

    The NaN that NVIDIA's GPUs compute is 0x7fffffff. Its upper half plus 1 is 0x8000, which is -0. And a NaN whose
    payload is in the lower half becomes infinity. torchao/optim/quant_utils.py (before, in torchao/prototype), tags
    v0.7.0 to v0.18.0. torchao 0.18.0 from PyPI, on a CPU: -0 in 1000 of 1000 calls. No report was found.
    `lower + bits > 65535` stands for its `random < lower`, which has the same odds.
    """
    word = x.contiguous().view(torch.int32)
    towards_zero = word & -65536
    up = (word & 65535) + bits > 65535
    return torch.where(up, towards_zero + 65536, towards_zero).view(torch.float32).bfloat16()


def stochastic_round_nearest(x, bits):
    """The bits are added, and the sum is rounded to the nearest: twice rounded, and infinity with bits is NaN.

    An infinity that became NaN was reported for StochasticRounding.jl:
    github.com/milankl/StochasticRounding.jl/issues/48 (2021).
    """
    return _but_nan(x, (x.contiguous().view(torch.int32) + bits).view(torch.float32))


def stochastic_round_no_carry(x, bits):
    """The bits are put into the lower half with an or, which never carries: every result is cut off."""
    return _but_nan(x, ((x.contiguous().view(torch.int32) | bits) & -65536).view(torch.float32))


def stochastic_round_subtract(x, bits):
    """Down with the odds with which it is to go up: the mean result is as far off on the other side."""
    word = x.contiguous().view(torch.int32)
    up = (word & 65535) + bits <= 65535
    moved = torch.where((word & 65535 != 0) & up, word + 65536, word) & -65536
    return torch.where(x.isfinite(), moved.view(torch.float32), x).bfloat16()


def _but_nan(x, rounded):
    """NaN is kept: the mistakes that nobody is known to have shipped are made by people who read the docstring."""
    return torch.where(x.isnan(), x, rounded).bfloat16()
