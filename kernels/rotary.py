"""Rotary position embedding in Triton: every pair of numbers is turned by an angle that grows with the position.

    y_1 = x_1 cos θ - x_2 sin θ        dx_1 = dy_1 cos θ + dy_2 sin θ
    y_2 = x_2 cos θ + x_1 sin θ        dx_2 = dy_2 cos θ - dy_1 sin θ
    θ = position · inv_freq

x, y: (B, H, M, D), D even   positions: (B, M) int64   inv_freq: (D / 2,) float32. Pair i is (i, i + D / 2), as in
Llama, or (2i, 2i + 1) where interleaved, as in the paper: Su et al. 2021, arXiv:2104.09864.
One program has a token: its angles are computed once, for all heads. An angle is a number of turns in float64, of which
the whole ones go exactly: at position 2^20 a float32 has steps of 1/16 radian. That is four operations a pair. Sine and
cosine of the rest are float32, as is all else, rounded once at the store.
"""

import torch

from ..solutions import rotary as cpu
from .autograd import Function, unaliased
from .language import check_tensors, describe, tl, triton, use_triton

# %% rotary_forward
PAIRS = 512  # that a program turns at a time: 16 of a thread


@triton.jit
def cos_sin(turns):
    """Cosine and sine of a number of turns, float64: float32, each off by 2^-23 at most.

    Less the whole turns nothing is large, so that no slow path is needed, as `tl.cos` has one for large angles. Both
    are polynomials in r², fitted by the Remez algorithm on a quarter of a turn to either side.
    """
    half = ((turns - tl.floor(turns + 0.5)) * 2.0).to(tl.float32)  # half turns, -1 to 1
    n = tl.floor(half + 0.5)
    r = half - n  # -1/2 to 1/2; an odd n changes the sign of both
    u = r * r
    sin = 3.14159274 + u * (-5.16771030 + u * (2.55007768 + u * (-0.598292172 + u * 0.0776594058)))
    cos = -4.93480206 + u * (4.05870914 + u * (-1.33521211 + u * (0.234937564 - u * 0.0243967157)))
    sign = 1.0 - 2.0 * tl.abs(n)
    return (1.0 + u * cos) * sign, r * sin * sign


@triton.jit
def rotate_kernel(
    x_ptr, positions_ptr, inv_freq_ptr, y_ptr, H, M, HALF, stride_b, stride_h, stride_m, stride_d,
    DIRECTION: tl.constexpr, INTERLEAVED: tl.constexpr, HEADS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Program t turns token t of B · M, HEADS heads at a time."""
    token = tl.program_id(0).to(tl.int64)
    b, m = token // M, token % M
    pairs = tl.arange(0, BLOCK)

    position = tl.load(positions_ptr + token)
    inv_freq = tl.load(inv_freq_ptr + pairs, mask=pairs < HALF, other=0.0)
    angle = position.to(tl.float64) * inv_freq.to(tl.float64)  # exact: 24 bits times at most 29
    cos, sin = cos_sin(angle * 0.15915494309189535)
    sin *= DIRECTION

    for start in range(0, H, HEADS):
        heads = start + tl.arange(0, HEADS)[:, None]
        x_row = x_ptr + b * stride_b + m * stride_m + heads.to(tl.int64) * stride_h
        y_row = y_ptr + ((b * H + heads) * M + m) * HALF * 2
        if INTERLEAVED:  # both numbers of a pair in one wide load
            cols = tl.arange(0, 2 * BLOCK)
            mask = (heads < H) & (cols < 2 * HALF)
            x = tl.load(x_row + cols.to(tl.int64) * stride_d, mask=mask, other=0.0).to(tl.float32)
            x_1, x_2 = tl.split(tl.reshape(x, (HEADS, BLOCK, 2)))
            y = tl.join(x_1 * cos - x_2 * sin, x_2 * cos + x_1 * sin)
            tl.store(y_row + cols, tl.reshape(y, (HEADS, 2 * BLOCK)).to(y_ptr.dtype.element_ty), mask=mask)
        else:
            first, second, mask = pairs, pairs + HALF, (heads < H) & (pairs < HALF)
            x_1 = tl.load(x_row + first.to(tl.int64) * stride_d, mask=mask, other=0.0).to(tl.float32)
            x_2 = tl.load(x_row + second.to(tl.int64) * stride_d, mask=mask, other=0.0).to(tl.float32)
            tl.store(y_row + first, (x_1 * cos - x_2 * sin).to(y_ptr.dtype.element_ty), mask=mask)
            tl.store(y_row + second, (x_2 * cos + x_1 * sin).to(y_ptr.dtype.element_ty), mask=mask)


def rotate(
    x: torch.Tensor, positions: torch.Tensor, inv_freq: torch.Tensor, interleaved: bool, direction: int
) -> torch.Tensor:
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
    rotate_kernel[(B * M,)](*tensors, *sizes, **how, num_warps=1)  # one warp, or more would compute the angles again
    return y


def rotary_forward(
    x: torch.Tensor, positions: torch.Tensor, inv_freq: torch.Tensor, interleaved: bool = False
) -> torch.Tensor:
    """y, like x: every pair of x (B, H, M, D) turned by positions (B, M) times inv_freq (D / 2,), an angle in radians.

    Pair i is (i, i + D / 2), or (2i, 2i + 1) where interleaved. positions are int64, of either sign, up to 2^20;
    inv_freq is float32. Strides: any for x and positions; inv_freq is contiguous.
    """
    return rotate(x, positions, inv_freq, interleaved, 1)


# %% rotary_backward
def rotary_backward(
    dy: torch.Tensor, positions: torch.Tensor, inv_freq: torch.Tensor, interleaved: bool = False
) -> torch.Tensor:
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
        return unaliased((backward if back else forward)(x, positions, inv_freq, interleaved))

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, *tensors, ctx.interleaved, ctx.back = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx, dy):
        dx = RotaryFunction.apply(dy, *ctx.saved_tensors, ctx.interleaved, not ctx.back)
        return dx, None, None, None, None


def rotary(x: torch.Tensor, positions: torch.Tensor, inv_freq: torch.Tensor, interleaved: bool = False) -> torch.Tensor:
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
