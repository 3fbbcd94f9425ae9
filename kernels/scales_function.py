"""Float8 and int8 with scales, as functions to import: quantisation by blocks, and a product with scales."""

import torch

from ..solutions.quantize_blocks import quantize_blocks as blocks_in_pytorch
from ..solutions.quantize_mx import quantize_mx as mx_in_pytorch
from ..solutions.scaled_matmul import scaled_matmul as product_in_pytorch
from .language import as_matrix, check_tensors, describe, use_triton
from .quantize_blocks import quantize_blocks as blocks_in_triton
from .quantize_mx import quantize_mx as mx_in_triton
from .scaled_matmul import scaled_matmul as product_in_triton

NARROW = (torch.float32, torch.float16, torch.bfloat16)


def quantize_blocks(x: torch.Tensor, block: int = 128) -> tuple[torch.Tensor, torch.Tensor]:
    """(q, scale): x as float8_e4m3fn with a float32 scale for each block of the last axis, without a gradient.

    x: (..., N), float32, float16 or bfloat16; scale: (..., ceil(N / block)), the largest absolute value of the block
    over 448; q: x / scale to the nearest. A block whose scale is 0 in float32 gives 0; a NaN makes its scale NaN.
    block: a power of two from 16 to 1024. CUDA (compute capability 8.9 on) through Triton, elsewhere PyTorch. Raises
    ValueError for other dtypes, blocks and axes.
    """
    _check("quantize_blocks", x)
    if block not in (16, 32, 64, 128, 256, 512, 1024):
        raise ValueError(f"quantize_blocks: block is a power of two from 16 to 1024; it is {block}")
    function = blocks_in_triton if use_triton(x) else blocks_in_pytorch
    q, scale = function(as_matrix(x), block)
    return q.view(x.shape), scale.view(*x.shape[:-1], scale.shape[1])


def quantize_mx(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(q, exponents): x as float8_e4m3fn with a power of two for each 32 elements (MXFP8), without a gradient.

    x: (..., N), float32, float16 or bfloat16, N a multiple of 32; exponents: (..., N / 32), uint8, e + 127 for the
    smallest e from -127 on with the largest absolute value at most 448 · 2^e, so that nothing saturates; 255 where a
    block has a NaN. q: x / 2^e to the nearest even. CUDA (compute capability 8.9 on) through Triton, elsewhere PyTorch.
    Raises ValueError for other dtypes and axes.
    """
    _check("quantize_mx", x)
    if x.shape[-1] % 32:
        raise ValueError(f"quantize_mx: the last axis is a multiple of 32; x is {describe(x)}")
    q, exponents = (mx_in_triton if use_triton(x) else mx_in_pytorch)(as_matrix(x))
    return q.view(x.shape), exponents.view(*x.shape[:-1], exponents.shape[1])


def scaled_matmul(a: torch.Tensor, a_scale: torch.Tensor, b: torch.Tensor, b_scale: torch.Tensor) -> torch.Tensor:
    """Σ_g a_scale[m, g] · b_scale[g, n] · Σ_k a[m, k] b[k, n] over the k of group g: (M, N), float32, no gradient.

    a: (M, K), b: (K, N), int8; a_scale: (M, G), b_scale: (G, N), float32; K / G is a multiple of 32. Sums of a group
    are integers on CUDA, through Triton; elsewhere PyTorch, in float32. Raises ValueError for other shapes, dtypes and
    devices.
    """
    check_tensors("scaled_matmul", a_scale=a_scale, a=a, b=b, b_scale=b_scale)
    tensors = ", ".join(map(describe, (a, a_scale, b, b_scale)))
    shaped = all(x.dim() == 2 for x in (a, a_scale, b, b_scale)) and a_scale.shape[1] > 0
    if not (shaped and a.dtype == b.dtype == torch.int8 and a_scale.dtype == b_scale.dtype == torch.float32):
        raise ValueError(f"scaled_matmul: a and b are int8 matrices, their scales float32 ones; they are {tensors}")
    (M, K), N, G = a.shape, b.shape[1], a_scale.shape[1]
    if (b.shape[0], *a_scale.shape, *b_scale.shape) != (K, M, G, G, N) or not K or K % (32 * G):
        raise ValueError(f"scaled_matmul: (M, K), (M, G), (K, N), (G, N), K / G a multiple of 32; they are {tensors}")
    return (product_in_triton if use_triton(a) else product_in_pytorch)(a, a_scale, b, b_scale)


def _check(op: str, x: torch.Tensor) -> None:
    """Raises ValueError where x is no tensor of rows in a dtype that a quantizer takes."""
    if x.dtype not in NARROW or not x.dim() or not x.shape[-1]:
        raise ValueError(f"{op}: x is (..., N), float32, float16 or bfloat16, N at least 1; it is {describe(x)}")
