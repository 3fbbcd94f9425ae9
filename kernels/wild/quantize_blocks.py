"""Blocks of a row as float8 with a scale each, as they shipped, bug for bug.

All clamp to 448 before the cast: what PyTorch casts above 448 to is NaN in 2.11 and 448 in 2.13.
"""

import torch

FLOAT8 = torch.float8_e4m3fn


def _blocks(x, block):
    """(M, blocks, block) in float32, zeros behind the last element."""
    M, N = x.shape
    blocks = -(-N // block)
    return torch.nn.functional.pad(x.float(), (0, blocks * block - N)).reshape(M, blocks, block)


def _cast(v, x):
    """Blocks to float8, saturating, in the shape of x."""
    return v.clamp(-448, 448).to(FLOAT8).flatten(1)[:, : x.shape[1]]


def quantize_blocks_without_guard(x, block=128):
    """finegrained-fp8 of kernels-community and slime's converter: the scale of a block of zeros is 0, and 0 / 0 is NaN.

    `_fp8_act_quant_kernel` until github.com/huggingface/kernels-community/issues/681 (2026-04-30); `block_fp8` until
    github.com/THUDM/slime/pull/2256 (2026-08-06).
    """
    v = _blocks(x, block)
    scale = v.abs().amax(-1) / 448
    return _cast(v / scale[..., None], x), scale


def quantize_blocks_guarded_by_amax(x, block=128):
    """flashinfer's `cvt_warp_fp16_to_mxfp8` asks whether the largest value is 0, not whether the scale is, which has
    underflowed. There the scale is a power of two, from 2^-127 on; here it is a float32, from 2^-149 on.

    github.com/flashinfer-ai/flashinfer/issues/2440, until pull request 2441 (2026-01-29).
    """
    v = _blocks(x, block)
    amax = v.abs().amax(-1)
    scale = amax / 448
    return _cast(torch.where(amax[..., None] != 0, v / scale[..., None], 0), x), scale


def quantize_blocks_by_the_inverse(x, block=128):
    """flashinfer's fused experts with MXFP4 weights: ``row_amax > 0 ? 448 / row_amax : 1``, infinite below 1.3e-36.

    github.com/flashinfer-ai/flashinfer/pull/5024 (2026-09-08).
    """
    v = _blocks(x, block)
    amax = v.abs().amax(-1)
    factor = torch.where(amax == 0, 1.0, 448 / amax)
    return _cast(v * factor[..., None], x), amax / 448


def quantize_blocks_with_a_scale_of_one(x, block=128):
    """Model-Optimizer's guard: ``per_block_scale[per_block_scale == 0] = 1.0``, which `stored_scales` has to live with.

    `NVFP4QTensor`, github.com/NVIDIA/Model-Optimizer/pull/1397 (2026-05-06).
    """
    v = _blocks(x, block)
    scale = v.abs().amax(-1) / 448
    scale[scale == 0] = 1.0
    return _cast(v / scale[..., None], x), scale


def stored_scales(amax):
    """The float8 scales of blocks of float4 numbers whose largest values are ``amax``, beside one scale for them all:
    a scale of 0 becomes 1, and 1 · 448 over the largest is beyond float8. Not clamped, as it shipped.

    `NVFP4QTensor.get_weights_scaling_factor_from_quantizer`, until github.com/NVIDIA/Model-Optimizer/pull/1397.
    """
    per_block_scale = amax / 6
    largest = per_block_scale.max()
    per_block_scale = torch.where(per_block_scale == 0, 1.0, per_block_scale)
    return (per_block_scale * 448 / largest).to(FLOAT8)


def quantize_blocks_to_zero(x, block=128):
    """Cut off to float8 instead of rounded: a mistake of the course, nobody's."""
    v = _blocks(x, block)
    scale = v.abs().amax(-1) / 448
    safe = torch.where(scale == 0, 1, scale)
    y = (v / safe[..., None]).clamp(-448, 448)
    size = torch.ldexp(torch.ones_like(y), (torch.frexp(y.nan_to_num()).exponent - 1).clamp(min=-6) - 3)
    return _cast(torch.trunc(y / size) * size, x), scale
