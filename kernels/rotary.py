"""Rotary position embedding in Triton: every pair of numbers is turned by an angle that grows with the position.

    y_1 = x_1 cos θ - x_2 sin θ        dx_1 = dy_1 cos θ + dy_2 sin θ
    y_2 = x_2 cos θ + x_1 sin θ        dx_2 = dy_2 cos θ - dy_1 sin θ
    θ = position · inv_freq

x, y: (B, H, M, D), D even   positions: (B, M) int64   inv_freq: (D / 2,) float32. Pair i is (i, i + D / 2), as in
Llama, or (2i, 2i + 1) where interleaved, as in the paper: Su et al. 2021, arXiv:2104.09864.
One program has a token and some of its heads, which share the angles. Angles are taken modulo 2π in float64: at
position 2^20 a float32 has steps of 1/16 radian. That is four operations a pair, and their sine and cosine are float32,
as is all else, rounded once at the store.
"""

import torch

from ..solutions import rotary as cpu
from .autograd import Function, sole
from .language import check_tensors, describe, tl, triton, use_triton

# %% rotary_forward
PAIRS = 1024  # that a program holds


@triton.jit
def reduced(position, inv_freq):
    """position · inv_freq in radians, less a whole number of turns: float32, from -π to π."""
    angle = position.to(tl.float64) * inv_freq.to(tl.float64)  # exact: 24 bits times at most 29
    turns = angle * 0.15915494309189535
    return ((turns - tl.floor(turns + 0.5)) * 6.283185307179586).to(tl.float32)


@triton.jit
def rotate_kernel(
    x_ptr,
    positions_ptr,
    inv_freq_ptr,
    y_ptr,
    H,
    M,
    HALF,
    stride_b,
    stride_h,
    stride_m,
    stride_d,
    DIRECTION: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    HEADS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Program (t, h) turns the pairs of HEADS heads of token t of B · M."""
    token = tl.program_id(0).to(tl.int64)
    b, m = token // M, token % M
    heads = tl.program_id(1) * HEADS + tl.arange(0, HEADS)[:, None]
    pairs = tl.arange(0, BLOCK)
    mask = (heads < H) & (pairs < HALF)

    position = tl.load(positions_ptr + token)
    inv_freq = tl.load(inv_freq_ptr + pairs, mask=pairs < HALF, other=0.0)
    angle = reduced(position, inv_freq)
    cos, sin = tl.cos(angle), tl.sin(angle) * DIRECTION

    first = 2 * pairs if INTERLEAVED else pairs
    second = first + 1 if INTERLEAVED else first + HALF
    x_ptr += b * stride_b + m * stride_m + heads.to(tl.int64) * stride_h
    y_ptr += ((b * H + heads) * M + m) * HALF * 2
    x_1 = tl.load(x_ptr + first.to(tl.int64) * stride_d, mask=mask, other=0.0).to(tl.float32)
    x_2 = tl.load(x_ptr + second.to(tl.int64) * stride_d, mask=mask, other=0.0).to(tl.float32)

    y_1 = x_1 * cos - x_2 * sin
    y_2 = x_2 * cos + x_1 * sin

    tl.store(y_ptr + first, y_1.to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(y_ptr + second, y_2.to(y_ptr.dtype.element_ty), mask=mask)


def rotate(x, positions, inv_freq, interleaved, direction):
    """x with every pair turned by direction · positions · inv_freq, contiguous."""
    B, H, M, D = x.shape
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if not x.numel():
        return y
    block = triton.next_power_of_2(D // 2)
    heads = min(triton.next_power_of_2(H), max(PAIRS // block, 1))
    tensors = x, positions.contiguous(), inv_freq.contiguous(), y
    sizes = H, M, D // 2, *x.stride()
    how = {"DIRECTION": direction, "INTERLEAVED": interleaved, "HEADS": heads, "BLOCK": block}
    rotate_kernel[(B * M, triton.cdiv(H, heads))](*tensors, *sizes, **how)
    return y


def rotary_forward(x, positions, inv_freq, interleaved=False):
    """y, like x: every pair of x (B, H, M, D) turned by positions (B, M) times inv_freq (D / 2,), an angle in radians.

    Pair i is (i, i + D / 2), or (2i, 2i + 1) where interleaved. positions are int64, of either sign, up to 2^20;
    inv_freq is float32. Strides: any for x and positions; inv_freq is contiguous.
    """
    return rotate(x, positions, inv_freq, interleaved, 1)


# %% rotary_backward
def rotary_backward(dy, positions, inv_freq, interleaved=False):
    """dx, like dy: every pair of dy turned back by the same angle. Strides: any for dy and positions."""
    return rotate(dy, positions, inv_freq, interleaved, -1)


# %% rotary
class RotaryFunction(Function):
    """Saves positions and inv_freq: the gradient does not depend on x, and is a rotation in the other direction."""

    @staticmethod
    def forward(x, positions, inv_freq, interleaved, back):
        forward, backward = (
            (rotary_forward, rotary_backward) if use_triton(x) else (cpu.rotary_forward, cpu.rotary_backward)
        )
        return sole((backward if back else forward)(x, positions, inv_freq, interleaved))

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, *tensors, ctx.interleaved, ctx.back = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx, dy):
        dx = RotaryFunction.apply(dy, *ctx.saved_tensors, ctx.interleaved, not ctx.back)
        return dx, None, None, None, None


def rotary(x, positions, inv_freq, interleaved=False):
    """x (B, H, M, D) with every pair turned by positions · inv_freq radians, differentiable in x as often as one likes.

    positions: (B, M), or (M,) or (1, M) for every batch, int64. inv_freq: (D / 2,) float32 or float64, as a
    rule base^(-2i / D): keep it in float32 also where the model is in half precision. Pair i is (i, i + D / 2), or
    (2i, 2i + 1) where interleaved. Any strides; CUDA through Triton, elsewhere PyTorch. Raises ValueError where shapes,
    dtypes or devices are others.
    """
    check_tensors("rotary", x=x, positions=positions, inv_freq=inv_freq)
    if x.dim() != 4 or x.shape[-1] % 2:
        raise ValueError(f"rotary: x is (B, H, M, D) with an even D; it is {describe(x)}")
    B, _, M, D = x.shape
    if positions.dtype != torch.int64 or positions.shape not in ((B, M), (1, M), (M,)):
        raise ValueError(
            f"rotary: x is {describe(x)}, so positions are ({B}, {M}) int64; they are {describe(positions)}"
        )
    if inv_freq.dtype not in (torch.float32, torch.float64) or inv_freq.shape != (D // 2,):
        raise ValueError(
            f"rotary: x is {describe(x)}, so inv_freq is ({D // 2},) float32; it is {describe(inv_freq)}: in a model "
            "that was converted to half precision as a whole its digits are lost, so compute it anew"
        )
    return RotaryFunction.apply(x, positions.expand(B, M), inv_freq, bool(interleaved), False)
