"""Blocks of 32 as float8 with a power of two each, as they shipped, bug for bug. All clamp to 448 before the cast."""

import torch


def _largest(x):
    """Blocks in float32, and the largest absolute value of each."""
    v = x.float().unflatten(1, (-1, 32))
    return v, v.abs().amax(-1)


def _quantized(v, e, amax):
    """q and exponents for blocks v and their e, at least -127; 255 where a block has a NaN."""
    e = e.nan_to_num(0).clamp(-127, 127)
    q = torch.ldexp(v, -e[..., None].int()).clamp(-448, 448).to(torch.float8_e4m3fn)
    return q.flatten(1), torch.where(amax.isnan(), 255, e + 127).to(torch.uint8)


def quantize_mx_to_nearest(x):
    """MLX's mxfp8 on Metal and CPU: the exponent is round(log2(amax / 448)), and about half of all blocks saturate.

    `fp_quantize`, until github.com/ml-explore/mlx/pull/4353 (2026-08-19).
    """
    v, amax = _largest(x)
    return _quantized(v, torch.round(torch.log2(amax / 448)), amax)


def quantize_mx_by_bfloat16(x):
    """torchao rounds the largest value to bfloat16 before it takes its exponent; there by floor, here the smallest e
    with amax <= 448 · 2^e.

    torchao/prototype/mx_formats/kernels.py, until github.com/pytorch/ao/pull/4725 (2026-08-07).
    """
    v, amax = _largest(x)
    fraction, power = torch.frexp(amax.bfloat16().float().nan_to_num())
    e = torch.where(amax == 0, -127, power - 9 + (fraction > 0.875).int())
    return _quantized(v, e.float(), amax)


def quantize_mx_floor(x):
    """The exponent of the OCP's text, floor(log2 amax) - 8: the largest elements saturate between 448 and 512 times a
    power of two.

    Open Compute Project, "Microscaling formats (MX) specification", 1.0, 2023, 6.3.
    """
    v, amax = _largest(x)
    power = torch.frexp(amax.nan_to_num()).exponent
    return _quantized(v, torch.where(amax == 0, -127.0, power - 9.0), amax)


def quantize_mx_by_logarithm(x):
    """ceil(log2(amax / 448)) in float32, which is e for what lies one step above 448 · 2^e: a mistake of the course."""
    v, amax = _largest(x)
    return _quantized(v, torch.ceil(torch.log2(amax / 448)), amax)
