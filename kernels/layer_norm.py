"""Layer norm in Triton, over the last axis of a matrix.

    x̂ = (x - mean) · rstd,   y = x̂ · weight + bias,   rstd = 1 / √(var + eps)

x, y: (M, N)   weight, bias: (N,)   mean, rstd: (M,) float32. Ba et al. 2016, arXiv:1607.06450.
Float32 inside, rounded once at the store. A row that fits in a block is read once, a longer one twice.
"""

import torch

from ..solutions import layer_norm as cpu
from .autograd import Function, gradient, unaliased
from .language import as_matrix, check_tensors, describe, tl, triton, use_triton
from .layer_norm_backward import layer_norm_backward


# %% layer_norm_forward
@triton.jit
def centre(x, mask, n):
    """(d, mean, rest): d = x - mean - rest. rest is the rounding error of the mean, seen once the mean is gone."""
    mean = tl.sum(x) / n
    d = tl.where(mask, x - mean, 0.0)  # lanes beyond the row hold 0, not -mean
    rest = tl.sum(d) / n
    return tl.where(mask, d - rest, 0.0), mean, rest


@triton.jit
def layer_norm_forward_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, mean_ptr, rstd_ptr, N, eps, BLOCK: tl.constexpr):
    """Program m does row m."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N

    x = tl.load(x_ptr + row * N + cols, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + cols, mask=mask, other=0.0).to(tl.float32)

    d, mean, rest = centre(x, mask, N)
    rstd = tl.rsqrt(tl.sum(d * d) / N + eps)
    y = d * rstd * weight + bias

    tl.store(y_ptr + row * N + cols, y.to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(mean_ptr + row, mean + rest)
    tl.store(rstd_ptr + row, rstd)


@triton.jit
def layer_norm_long_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, mean_ptr, rstd_ptr, N, eps, BLOCK: tl.constexpr):
    """Program m does row m, block by block, twice. The statistics of the blocks are merged (Chan et al. 1979)."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * N
    y_ptr += row * N
    mean = 0.0
    rest = 0.0
    squares = 0.0
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        n = tl.minimum(N - start, BLOCK)
        share = n / (start + n)
        x = tl.load(x_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
        d, block_mean, block_rest = centre(x, cols < N, n)
        mean = tl.where(start == 0, block_mean, mean)  # of the first block; the rest is kept apart, in full precision
        step = block_mean - mean + (block_rest - rest)
        rest += step * share
        squares += tl.sum(d * d) + step * step * start * share
    rstd = tl.rsqrt(squares / N + eps)
    tl.store(mean_ptr + row, mean + rest)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < N
        x = tl.load(x_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        bias = tl.load(bias_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        y = (x - mean - rest) * rstd * weight + bias
        tl.store(y_ptr + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


def layer_norm_forward(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(y, mean, rstd): y = (x - mean) · rstd · weight + bias for each row, in x's dtype; mean, rstd: (M,) float32.

    Strides: any for x; weight and bias are contiguous.
    """
    x = x.contiguous()
    weight, bias = weight.contiguous(), bias.contiguous()
    M, N = x.shape
    y = torch.empty_like(x)
    mean = torch.empty(M, dtype=torch.float32, device=x.device)
    rstd = torch.empty_like(mean)
    if M:
        kernel, block = layer_norm_forward_kernel, max(triton.next_power_of_2(N), 1)
        if N > 8192:  # more than a program holds in its registers
            kernel, block = layer_norm_long_kernel, 4096
        kernel[(M,)](x, weight, bias, y, mean, rstd, N, eps, BLOCK=block, num_warps=max(block // 512, 1))
    return y, mean, rstd


# %% layer_norm
class LayerNormFunction(Function):
    """(y, mean, rstd) over the rows of a matrix. Saves x, weight and two numbers a row: neither y nor x̂."""

    @staticmethod
    def forward(x, weight, bias, eps):
        y, mean, rstd = (layer_norm_forward if use_triton(x) else cpu.layer_norm_forward)(x, weight, bias, eps)
        return y if use_triton(x) else unaliased(y), mean, rstd

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, _, _ = inputs
        _, mean, rstd = output
        ctx.mark_non_differentiable(mean, rstd)
        ctx.save_for_backward(x, weight, mean, rstd)

    @staticmethod
    def backward(ctx, dy, *_):
        compute = layer_norm_backward if use_triton(dy) else cpu.layer_norm_backward
        return *gradient("layer_norm", compute, dy, *ctx.saved_tensors), None


def layer_norm(
    x: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, eps: float = 1e-5
) -> torch.Tensor:
    """Layer norm over the last axis, differentiable once. Any shape and strides; CUDA through Triton, else PyTorch.

    weight, bias: (N,) where N is the length of the last axis; left out, ones and zeros. Of x's dtype, or float32.
    Raises ValueError where one of them has another shape or device, and where x is not floating point.
    """
    check_tensors("layer_norm", 1, x=x, weight=weight, bias=bias)
    N = x.shape[-1]
    weight = x.new_ones(N) if weight is None else weight
    bias = torch.zeros_like(weight) if bias is None else bias
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor.shape != (N,):
            raise ValueError(
                f"layer_norm: x is {describe(x)}, so {name} must be of shape ({N},); it is {describe(tensor)}"
            )
    return LayerNormFunction.apply(as_matrix(x), weight, bias, eps)[0].reshape(x.shape)
