"""RMS norm in Triton, over the last axis of a matrix.

    x̂ = x · rstd,   y = x̂ · weight,   rstd = 1 / √(mean(x²) + eps)

x, y: (M, N)   weight: (N,)   rstd: (M,) float32. Zhang and Sennrich 2019, arXiv:1910.07467.
Float32 inside, rounded once at the store. A row that fits in a block is read once, a longer one twice. Above 1.8e19 a
square is infinite in float32; such a row is scaled down by a power of two first, and eps with it.
"""

import torch

from ..solutions import rms_norm as cpu
from .autograd import Function, gradient, unaliased
from .language import as_matrix, check_tensors, describe, tl, triton, use_triton
from .rms_norm_backward import rms_norm_backward


# %% rms_norm_forward
@triton.jit
def down(x):
    """x · 2^-80: the largest float32 becomes 3e14, whose square is finite."""
    return x * 8.271806125530277e-25


@triton.jit
def scale_for(top):
    """What a row whose largest element is ``top`` is multiplied by, so that the sum of its squares is finite."""
    return tl.where(top > 1e15, down(1.0), 1.0)


@triton.jit
def rms_norm_forward_kernel(x_ptr, weight_ptr, y_ptr, rstd_ptr, N, eps, BLOCK: tl.constexpr):
    """Program m does row m."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N

    x = tl.load(x_ptr + row * N + cols, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)

    scale = scale_for(tl.max(tl.abs(x)))
    x *= scale
    rstd = tl.rsqrt(tl.sum(x * x) / N + eps * scale * scale)
    y = x * rstd * weight

    tl.store(y_ptr + row * N + cols, y.to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(rstd_ptr + row, rstd * scale)


@triton.jit
def rms_norm_long_kernel(x_ptr, weight_ptr, y_ptr, rstd_ptr, N, eps, BLOCK: tl.constexpr):
    """Program m does row m, block by block, twice."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * N
    y_ptr += row * N
    top = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    squares_down = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
        top = tl.maximum(top, tl.abs(x))
        squares += x * x
        squares_down += down(x) * down(x)
    scale = scale_for(tl.max(top))
    rstd = tl.rsqrt(tl.sum(tl.where(scale < 1.0, squares_down, squares)) / N + eps * scale * scale)
    tl.store(rstd_ptr + row, rstd * scale)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
        y = x * scale * rstd * weight
        tl.store(y_ptr + cols, y.to(y_ptr.dtype.element_ty), mask=cols < N)


def rms_norm_forward(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> tuple[torch.Tensor, torch.Tensor]:
    """(y, rstd): y = x · rstd · weight for each row, in x's dtype; rstd: (M,) float32.

    Strides: any for x; weight is contiguous.
    """
    x = x.contiguous()
    weight = weight.contiguous()
    M, N = x.shape
    y = torch.empty_like(x)
    rstd = torch.empty(M, dtype=torch.float32, device=x.device)
    if M:
        kernel, block = rms_norm_forward_kernel, max(triton.next_power_of_2(N), 1)
        if N > 8192:  # more than a program holds in its registers
            kernel, block = rms_norm_long_kernel, 4096
        kernel[(M,)](x, weight, y, rstd, N, eps, BLOCK=block, num_warps=max(block // 512, 1))
    return y, rstd


# %% rms_norm
class RMSNormFunction(Function):
    """(y, rstd) over the rows of a matrix. Saves x, weight and one number a row."""

    @staticmethod
    def forward(x, weight, eps):
        y, rstd = (rms_norm_forward if use_triton(x) else cpu.rms_norm_forward)(x, weight, eps)
        return y if use_triton(x) else unaliased(y), rstd

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, _ = inputs
        _, rstd = output
        ctx.mark_non_differentiable(rstd)
        ctx.save_for_backward(x, weight, rstd)

    @staticmethod
    def backward(ctx, dy, _):
        compute = rms_norm_backward if use_triton(dy) else cpu.rms_norm_backward
        return *gradient("rms_norm", compute, dy, *ctx.saved_tensors), None


def rms_norm(x: torch.Tensor, weight: torch.Tensor | None = None, eps: float = 1e-6) -> torch.Tensor:
    """RMS norm over the last axis, differentiable once. Any shape and strides; CUDA through Triton, else PyTorch.

    weight: (N,) where N is the length of the last axis; left out, ones. Of x's dtype, or float32.
    Raises ValueError where it has another shape or device, and where x is not floating point.
    """
    check_tensors("rms_norm", 1, x=x, weight=weight)
    N = x.shape[-1]
    weight = x.new_ones(N) if weight is None else weight
    if weight.shape != (N,):
        raise ValueError(f"rms_norm: x is {describe(x)}, so weight must be of shape ({N},); it is {describe(weight)}")
    return RMSNormFunction.apply(as_matrix(x), weight, eps)[0].reshape(x.shape)
