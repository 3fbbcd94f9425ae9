"""Softmax over those elements of a row that a mask leaves, in Triton.

    y_ij  = e^(x_ij - top_i) / Σ_k e^(x_ik - top_i)  over the k with mask_ik,   0 where not mask_ij
    dx_ij = y_ij · (dy_ij - Σ_k y_ik · dy_ik)

x, dy, y, dx: (M, N)   mask: (M, N) bool. Float32 inside, rounded once at the store. A row that fits in a block is read
once, a longer one twice. A row without an element gives 0 (pytorch#103963).
"""

import torch

from ..solutions import masked_softmax as cpu
from .autograd import Function, gradient, unaliased
from .language import as_matrix, check_tensors, describe, tl, triton, use_triton

# %% masked_softmax_forward
BLOCK = 8192  # the longest row that one program holds in its registers


@triton.jit
def masked_row(x_ptr, mask_ptr, cols, N):
    """Part of a row in float32, -inf where the mask is False or the row has ended."""
    keep = tl.load(mask_ptr + cols, mask=cols < N, other=0) != 0
    x = tl.load(x_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)  # not mask=keep: that loads number by number
    return tl.where(keep, x, float("-inf")), keep


@triton.jit
def exp_below(x, top):
    """e^(x - top), and 0 where that is subnormal: for subnormal results `tl.exp` takes three instructions more."""
    return tl.exp2((x - top) * 1.4426950408889634)


@triton.jit
def masked_softmax_forward_kernel(x_ptr, mask_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """Program m does row m."""
    row = tl.program_id(0).to(tl.int64) * N
    cols = tl.arange(0, BLOCK)
    x, keep = masked_row(x_ptr + row, mask_ptr + row, cols, N)
    p = exp_below(x, tl.maximum(tl.max(x), -3.4028234663852886e38))  # -inf - -inf is NaN
    total = tl.sum(p)
    y = tl.where(keep, p * (1.0 / tl.where(total == 0.0, 1.0, total)), 0.0)  # 0 / 0 is NaN
    tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=cols < N)


@triton.jit
def masked_softmax_forward_long_kernel(x_ptr, mask_ptr, y_ptr, N, BLOCK: tl.constexpr):
    """Program m does row m, block by block, twice: for the maximum and the sum, and to write."""
    row = tl.program_id(0).to(tl.int64) * N
    top = -3.4028234663852886e38  # the largest so far
    total = 0.0  # Σ e^(x - top)
    for start in range(0, N, BLOCK):
        x, _ = masked_row(x_ptr + row, mask_ptr + row, start + tl.arange(0, BLOCK), N)
        new_top = tl.maximum(top, tl.max(x))
        total = total * tl.exp(top - new_top) + tl.sum(exp_below(x, new_top))
        top = new_top
    share = 1.0 / tl.where(total == 0.0, 1.0, total)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x, keep = masked_row(x_ptr + row, mask_ptr + row, cols, N)
        y = tl.where(keep, exp_below(x, top) * share, 0.0)
        tl.store(y_ptr + row + cols, y.to(y_ptr.dtype.element_ty), mask=cols < N)


def masked_softmax_forward(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """y, like x: the softmax of each row over its elements under the mask, 0 elsewhere."""
    x, mask = x.contiguous(), mask.contiguous()
    M, N = x.shape
    y = torch.empty_like(x)
    if x.numel():
        kernel, block = masked_softmax_forward_kernel, triton.next_power_of_2(N)
        if N > BLOCK:
            kernel, block = masked_softmax_forward_long_kernel, BLOCK // 2
        kernel[(M,)](x, mask, y, N, BLOCK=block, num_warps=max(block // 1024, 1))
    return y


# %% masked_softmax_backward
@triton.jit
def masked_softmax_backward_kernel(dy_ptr, y_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    """Program m does row m."""
    at = tl.program_id(0).to(tl.int64) * N + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < N
    y = tl.load(y_ptr + at, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
    dx = y * (dy - tl.sum(y * dy))
    tl.store(dx_ptr + at, dx.to(dx_ptr.dtype.element_ty), mask=mask)


@triton.jit
def masked_softmax_backward_long_kernel(dy_ptr, y_ptr, dx_ptr, N, BLOCK: tl.constexpr):
    """Program m does row m, block by block, twice: for Σ y · dy, and to write."""
    row = tl.program_id(0).to(tl.int64) * N
    total = 0.0
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        y = tl.load(y_ptr + row + cols, mask=cols < N, other=0.0).to(tl.float32)
        total += tl.sum(y * tl.load(dy_ptr + row + cols, mask=cols < N, other=0.0).to(tl.float32))
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        y = tl.load(y_ptr + row + cols, mask=cols < N, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row + cols, mask=cols < N, other=0.0).to(tl.float32)
        tl.store(dx_ptr + row + cols, (y * (dy - total)).to(dx_ptr.dtype.element_ty), mask=cols < N)


def masked_softmax_backward(dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """dx, like y, from what masked_softmax_forward returned. Needs no mask: where y is 0, so is dx."""
    dy = dy.contiguous()
    y = y.contiguous()
    M, N = y.shape
    dx = torch.empty_like(y)
    if y.numel():
        kernel, block = masked_softmax_backward_kernel, triton.next_power_of_2(N)
        if N > BLOCK:
            kernel, block = masked_softmax_backward_long_kernel, BLOCK // 2
        kernel[(M,)](dy, y, dx, N, BLOCK=block, num_warps=max(block // 512, 1))
    return dx


# %% masked_softmax
class MaskedSoftmaxFunction(Function):
    """Over the rows of a matrix. Saves y alone."""

    @staticmethod
    def forward(x, mask):
        y = (masked_softmax_forward if use_triton(x) else cpu.masked_softmax_forward)(x, mask)
        return y if use_triton(x) else unaliased(y)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, dy):
        compute = masked_softmax_backward if use_triton(dy) else cpu.masked_softmax_backward
        return gradient("masked_softmax", compute, dy, *ctx.saved_tensors), None


def masked_softmax(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Softmax over the last axis where mask is True, 0 elsewhere, differentiable once. CUDA: Triton, else PyTorch.

    mask: bool, of a shape that broadcasts to x's, on its device. Raises ValueError where it is not, or x not floating
    point.
    """
    check_tensors("masked_softmax", 1, x=x, mask=mask)
    try:
        mask = mask.expand(x.shape)
    except RuntimeError:
        raise ValueError(f"masked_softmax: x is {describe(x)}; mask cannot be expanded: {describe(mask)}") from None
    if mask.dtype != torch.bool:
        raise ValueError(f"masked_softmax: mask must be bool; it is {describe(mask)}")
    return MaskedSoftmaxFunction.apply(as_matrix(x), as_matrix(mask)).reshape(x.shape)
