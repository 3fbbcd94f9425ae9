"""GELU in Triton, in both of its forms.

    y  = x · F(x),   dx = dy · (F(x) + x · F'(x))

    approximate="none":  F(x) = Φ(x) = erfc(-x / √2) / 2, the normal distribution
    approximate="tanh":  F(x) = s(2u),  u = √(2/π) · (x + 0.044715 x³),  s(z) = 1 / (1 + e^-z)

Elementwise over any shape; float32 inside, rounded once at the store; forward moves 2 numbers an element, backward 3.
Hendrycks and Gimpel 2016, arXiv:1606.08415.
"""

import functools
import math

import torch

from ..solutions import gelu as cpu
from .autograd import Function, gradient, unaliased
from .language import check_tensors, tl, triton, use_triton
from .on_a_cpu import elementwise

# %% gelu_forward
BLOCK = 1024


@triton.jit
def mills_ratio(t):
    """e^(t²/2) · Φ(-t) for 0 <= t <= 16, to 3 ulp: Triton has no erfc.

    A polynomial in z = (t - 1.5) / (t + 1.5), over t + 1.5, fitted by the Remez algorithm for the least relative error
    on [0, 14.5], 2^-26.4; beyond, Φ(-t) is 0 in float32. The shift 1.5 leaves the least rounding error.
    """
    u = 1.0 / (t + 1.5)
    z = (t - 1.5) * u
    q = 4.62688522e-4 + z * 1.50645815e-4
    q = -2.71186117e-3 + z * (-1.03575399e-3 + z * (2.51995658e-4 + z * q))
    q = 1.76417119e-2 + z * (3.98874814e-3 + z * (-2.43858044e-3 + z * q))
    q = -0.195099471 + z * (-5.74956064e-2 + z * (1.78964079e-2 + z * q))
    return (0.617342002 + z * q) * u


@triton.jit
def exp_of(t, TANH: tl.constexpr):
    """(p, s): e^-w = p s², and s is a power of two.

    A w of 100, rounded, would spoil e^-w in the sixth decimal: w comes in two parts, the first one exact.
    """
    if TANH:  # w = 2u = t · (a + b t²), a = 1.5957691 and b = 0.07135481 in two parts too
        near = tl.floor(t * 32.0 + 0.5) * 0.03125  # t to a few bits
        slope = 1.595703125 + 0.0712890625 * near * near  # exact: both constants have few bits
        short = tl.floor(slope * 64.0) * 0.015625
        high = near * short
        rest = slope - short + (6.59966057e-5 + 6.57537726e-5 * near * near)
        low = near * rest + (t - near) * (1.59576912 + 0.0713548163 * (t * t + t * near + near * near))
    else:  # w = t² / 2
        near = tl.floor(t * 16.0) * 0.0625
        high = near * near * 0.5
        low = (t - near) * (t + near) * 0.5
    n = tl.floor((high + low) * 0.7213475204 + 0.5)  # e^-w = 2^-2n · e^-r
    r = (high - n * 1.38671875) + (low + n * 4.24388880e-4)  # 2 ln 2 in two parts, the first one exact times n
    p, s = tl.exp(-r), tl.exp2(-n)
    return p, s


@triton.jit
def half_tail(t, TANH: tl.constexpr):
    """(s, share) of gelu_tail to 2^-19, enough for half precision, by a third of the instructions: w is one number,
    and 1 / d the square of a root, two instructions for the eight of a division.
    """
    if TANH:
        s = tl.exp2(t * (-1.15110313 - 0.0514716035 * (t * t)))
        root = tl.rsqrt(1.0 + s * s)
        share = root * root
    else:  # the ratio to 2^-22 up to 5.9, where float16 ends, and to 2^-19 up to 14, where bfloat16 does
        s = tl.exp2(t * t * -0.36067376)
        root = tl.rsqrt(1.0 + 0.34 * t)
        u = root * root
        q = 0.171299383 + u * (-0.0558511354 + u * (0.288679421 + u * (-0.213400871 + u * 0.0476173684)))
        share = -5.91530843e-5 + u * (0.136877939 + u * (0.124836951 + u * q))
    return s, share


@triton.jit
def gelu_tail(t, TANH: tl.constexpr, DTYPE: tl.constexpr):
    """(p, s, share, bend) at 0 <= t <= 16: F(-t) = p s² · share, t · F'(t) = p s² · bend, for a result of DTYPE.

    p s² is e^-w, where w is t² / 2 or 2u.
    """
    if DTYPE.primitive_bitwidth == 16:
        s, share = half_tail(t, TANH)
        p = 1.0
    else:
        p, s = exp_of(t, TANH)
        share = 1.0 / (1.0 + p * s * s) if TANH else mills_ratio(t)
    if TANH:
        bend = t * (1.59576912 + 0.214064449 * t * t) * share * share
    else:
        bend = t * 0.398942280  # 1 / √(2π)
    return p, s, share, bend


@triton.jit
def gelu_forward_kernel(x_ptr, y_ptr, n, TANH: tl.constexpr, BLOCK: tl.constexpr):
    """Program p does elements p · BLOCK to (p + 1) · BLOCK."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n

    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)

    t = tl.where(tl.abs(x) > 16.0, 16.0, tl.abs(x))  # as good as infinity in float32
    p, s, share, bend = gelu_tail(t, TANH, y_ptr.dtype.element_ty)
    y = tl.where(x < 0, 0.0, x) - t * share * p * s * s  # the distance to max(x, 0) is even

    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


def is_tanh(approximate: str) -> bool:
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate is 'none' or 'tanh', not {approximate!r}")
    return approximate == "tanh"


def gelu_forward(x: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    """y = x · F(x), elementwise. Any shape, float32, float16 or bfloat16; y has the shape and dtype of x.

    approximate: "none" for the normal distribution itself, "tanh" for GPT-2's approximation. Strides: any for x.
    """
    x, tanh = x.contiguous(), is_tanh(approximate)
    y = torch.empty_like(x)
    if x.numel():
        gelu_forward_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), TANH=tanh, BLOCK=BLOCK)
    return y


# %% gelu_backward
@triton.jit
def gelu_backward_kernel(dy_ptr, x_ptr, dx_ptr, n, TANH: tl.constexpr, BLOCK: tl.constexpr):
    """Program p does elements p · BLOCK to (p + 1) · BLOCK."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n

    dy = tl.load(dy_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)

    t = tl.where(tl.abs(x) > 16.0, 16.0, tl.abs(x))
    p, s, share, bend = gelu_tail(t, TANH, dx_ptr.dtype.element_ty)
    below = (share - bend) * p * s  # F(x) + x · F'(x) at -|x|, but for one s; the slopes at x and -x add up to 1
    dx = dy * tl.where(x < 0, below, 1.0 - below * s) * tl.where(x < 0, s, 1.0)

    tl.store(dx_ptr + offsets, dx.to(dx_ptr.dtype.element_ty), mask=mask)


def gelu_backward(dy: torch.Tensor, x: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    """dx = dy · (F(x) + x · F'(x)), elementwise. dy and x of one shape and dtype; dx too.

    Strides: any for dy and x.
    """
    dy, x, tanh = dy.contiguous(), x.contiguous(), is_tanh(approximate)
    dx = torch.empty_like(x)
    if x.numel():
        gelu_backward_kernel[(triton.cdiv(x.numel(), BLOCK),)](dy, x, dx, x.numel(), TANH=tanh, BLOCK=BLOCK)
    return dx


# %% gelu
A = 2 * math.sqrt(2 / math.pi)
B = 0.044715 * A


def gelu_in_float64(x: torch.Tensor) -> torch.Tensor:
    x.clamp_(min=-40)  # F(-40) is 0 in float32: -inf would meet it as inf * 0
    return torch.mul(x, -math.sqrt(0.5)).erfc_().mul_(x).mul_(0.5)


def gelu_tanh_in_float64(x: torch.Tensor) -> torch.Tensor:
    x.clamp_(min=-40)
    return x.square().mul_(B).add_(A).mul_(x).sigmoid_().mul_(x)


def gelu_derivative_in_float64(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    x.clamp_(-40, 40)
    slope = x.square().mul_(-0.5).exp_().mul_(x).mul_(1 / math.sqrt(2 * math.pi))
    return slope.add_(x.mul_(-math.sqrt(0.5)).erfc_(), alpha=0.5).mul_(dy)


def gelu_tanh_derivative_in_float64(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    square = x.clamp_(-40, 40).square()
    s = torch.mul(square, B).add_(A).mul_(x).sigmoid_()
    return (1 - s).mul_(x).mul_(square.mul_(3 * B).add_(A)).add_(1).mul_(s).mul_(dy)


def gelu_on_a_cpu(x: torch.Tensor, approximate: str) -> torch.Tensor:
    in_float64 = gelu_tanh_in_float64 if is_tanh(approximate) else gelu_in_float64
    return elementwise(in_float64, functools.partial(cpu.gelu_forward, approximate=approximate), x)


def gelu_backward_on_a_cpu(dy: torch.Tensor, x: torch.Tensor, approximate: str) -> torch.Tensor:
    in_float64 = gelu_tanh_derivative_in_float64 if is_tanh(approximate) else gelu_derivative_in_float64
    return elementwise(in_float64, functools.partial(cpu.gelu_backward, approximate=approximate), dy, x)


class GELUFunction(Function):
    """Saves x alone."""

    @staticmethod
    def forward(x, approximate):
        return gelu_forward(x, approximate) if use_triton(x) else unaliased(gelu_on_a_cpu(x, approximate))

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.approximate = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, dy):
        compute = gelu_backward if use_triton(dy) else gelu_backward_on_a_cpu
        return gradient("gelu", compute, dy, *ctx.saved_tensors, ctx.approximate), None


def gelu(x: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    """x · F(x), differentiable once. Any shape and strides; CUDA by Triton, else PyTorch. approximate as in F.gelu.

    Raises ValueError where approximate is neither "none" nor "tanh", and where x is not floating point.
    """
    check_tensors("gelu", x=x)
    return GELUFunction.apply(x, approximate)
