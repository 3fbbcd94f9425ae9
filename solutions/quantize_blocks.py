"""Blocks of a row in float8 e4m3 with a float32 scale each, in PyTorch.

    scale_b = max |x| / 448 over the block     q = x / scale_b to the nearest     x: (M, N)

Micikevicius et al. 2022, arXiv:2209.05433; scales for blocks as in DeepSeek-V3, 2024, arXiv:2412.19437.
"""

import torch


# %% quantize_blocks
def quantize_blocks(x: torch.Tensor, block: int = 128) -> tuple[torch.Tensor, torch.Tensor]:
    """(q, scale): q like x, in float8_e4m3fn; scale (M, ceil(N / block)), float32. x: (M, N), float32 or half.

    scale is the largest absolute value of a block over 448, within 2 ulp, and q is x / scale to the nearest. Where the
    scale is 0 in float32, q is 0. block: a power of two from 16 to 1024; the last block of a row may be shorter. A NaN
    makes its scale NaN and itself, whatever is beside it in the block. Strides: any for x.
    """
    M, N = x.shape
    v = torch.nn.functional.pad(x.float(), (0, -N % block)).unflatten(1, (-1, block))
    scale = v.abs().amax(-1) / 448
    safe = torch.where(scale == 0, 1, scale)  # the scale is asked: it can be 0 where no element is
    q = (v / safe[..., None]).clamp(-448, 448)
    return q.to(torch.float8_e4m3fn).flatten(1)[:, :N].contiguous(), scale
