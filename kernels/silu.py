"""SiLU in Triton.

    y  = x · s(x),   s(x) = 1 / (1 + e^-x)
    dx = dy · s(x) · (1 + x · s(-x))

Elementwise over any shape; float32 inside, rounded once at the store. Elfwing et al. 2017, arXiv:1702.03118.
Forward moves 2 numbers an element, backward 3: nothing is read twice, nothing is saved but x.
"""

import torch

from ..solutions import silu as cpu
from .autograd import Function, gradient, unaliased
from .language import check_tensors, tl, triton, use_triton
from .on_a_cpu import elementwise

# %% silu_forward
BLOCK = 1024


@triton.jit
def exp_half(x):
    """e^(-|x|/2) to 2 ulp. A GPU's exp loses |r| of its digits, so ln 2 is taken out first: then |r| <= 0.35."""
    a = tl.minimum(tl.abs(x), 1500.0) * 0.5
    n = tl.floor(a * 1.4426950408889634 + 0.5)
    # ln 2 in two parts; the first has 9 bits, so that its product with n is exact.
    r = (a - n * 0.693359375) + n * 2.12194440e-4
    return tl.exp(-r) * tl.exp2(-n)


@triton.jit
def sigmoid_parts(x, DTYPE: tl.constexpr):
    """(a, b, r): s(x) = a² r and s(-x) = b² r, with digits enough for DTYPE: a few ulp of float32, or 2^-21.

    The square comes last, since it may be subnormal. Half precision needs no more than one exponential and one root:
    1 / (1 + h²) is a root squared, two instructions for the eight of a division.
    """
    if DTYPE.primitive_bitwidth == 16:
        h = tl.exp2(tl.abs(x) * -0.72134752)  # e^(-|x|/2)
        root, r = tl.rsqrt(1.0 + h * h), 1.0
    else:
        h = exp_half(x)
        root, r = 1.0, 1.0 / (1.0 + h * h)
    return tl.where(x < 0, h * root, root), tl.where(x < 0, root, h * root), r


@triton.jit
def silu_of(x, DTYPE: tl.constexpr):
    """x · s(x) for a result of DTYPE, with the tail kept down to the smallest subnormal and 0 at -inf."""
    x = tl.where(x < -1500.0, -1500.0, x)
    tail, other, r = sigmoid_parts(x, DTYPE)
    return x * tail * tail * r


@triton.jit
def silu_forward_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Program p does elements p · BLOCK to (p + 1) · BLOCK."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n

    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)

    y = silu_of(x, y_ptr.dtype.element_ty)

    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x: torch.Tensor) -> torch.Tensor:
    """y = x · s(x), s(x) = 1 / (1 + e^-x), elementwise, in the shape and dtype of x: float32, float16 or bfloat16.

    Strides: any for x.
    """
    x = x.contiguous()
    y = torch.empty_like(x)
    silu_forward_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), BLOCK=BLOCK)
    return y


# %% silu_backward
@triton.jit
def silu_derivative_times(dy, x, DTYPE: tl.constexpr):
    """dy · s(x) · (1 + x · s(-x)) for a result of DTYPE. s(-x) comes from the same e^-|x|, never as 1 - s(x), which
    cancels.
    """
    x = tl.where(tl.abs(x) > 1500.0, tl.where(x > 0, 1500.0, -1500.0), x)
    tail, other, r = sigmoid_parts(x, DTYPE)
    slope = tail * (1.0 + x * (other * other * r)) * r  # without one tail: not subnormal before dy scales it
    return dy * slope * tail


@triton.jit
def silu_backward_kernel(dy_ptr, x_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    """Program p does elements p · BLOCK to (p + 1) · BLOCK."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n

    dy = tl.load(dy_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)

    dx = silu_derivative_times(dy, x, dx_ptr.dtype.element_ty)

    tl.store(dx_ptr + offsets, dx.to(dx_ptr.dtype.element_ty), mask=mask)


def silu_backward(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """dx = dy · s(x) · (1 + x · s(-x)), s(x) = 1 / (1 + e^-x), elementwise. dy and x of one shape and dtype; dx too.

    Strides: any for dy and x.
    """
    dy, x = dy.contiguous(), x.contiguous()
    dx = torch.empty_like(x)
    silu_backward_kernel[(triton.cdiv(x.numel(), BLOCK),)](dy, x, dx, x.numel(), BLOCK=BLOCK)
    return dx


# %% silu
def silu_in_float64(x: torch.Tensor) -> torch.Tensor:
    x.clamp_(min=-1500)  # e^-1500 is 0: -inf would meet it as inf * 0
    return x.sigmoid().mul_(x)


def silu_derivative_in_float64(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    s = x.clamp_(-1500, 1500).sigmoid()
    return (1 - s).mul_(x).add_(1).mul_(s).mul_(dy)


def silu_on_a_cpu(x: torch.Tensor) -> torch.Tensor:
    return elementwise(silu_in_float64, cpu.silu_forward, x)


def silu_backward_on_a_cpu(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return elementwise(silu_derivative_in_float64, cpu.silu_backward, dy, x)


class SiLUFunction(Function):
    """Saves x alone: y does not help the gradient (see silu_backward)."""

    @staticmethod
    def forward(x):
        return silu_forward(x) if use_triton(x) else unaliased(silu_on_a_cpu(x))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, dy):
        return gradient("silu", silu_backward if use_triton(dy) else silu_backward_on_a_cpu, dy, *ctx.saved_tensors)


def silu(x: torch.Tensor) -> torch.Tensor:
    """silu(x) = x / (1 + e^-x), differentiable once. Any shape and strides; CUDA through Triton, elsewhere PyTorch.

    Raises ValueError where x is not floating point.
    """
    check_tensors("silu", x=x)
    return SiLUFunction.apply(x)
