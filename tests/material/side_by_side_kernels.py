"""Candidates for `test_compare*.py`: kernels are read from files."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n, row_stride, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * row_stride + cols, mask=cols < n, other=OTHER).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + row * n + cols, (e / tl.sum(e, 0)).to(y_ptr.dtype.element_ty), mask=cols < n)


def launched(x, other, rows):
    x = x.contiguous()
    y = torch.empty_like(x) if rows is None else torch.zeros_like(x)
    if x.numel():
        grid = (rows or x.shape[0],)
        softmax_kernel[grid](x, y, x.shape[1], x.stride(0), OTHER=other, BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


def softmax_kernel_launched(x):
    return launched(x, float("-inf"), None)


def softmax_without_other(x):
    return launched(x, 0.0, None)


def first_row_only(x):
    return launched(x, float("-inf"), 1)


@triton.jit
def partial_sums_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + tl.program_id(0), tl.sum(x, 0))


@triton.jit
def sums_without_other_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + tl.program_id(0), tl.sum(tl.load(x_ptr + i, mask=i < n).to(tl.float32), 0))


def summed_without_other(x):
    return summed_in_blocks(x, sums_without_other_kernel)


def summed_in_blocks(x, kernel=partial_sums_kernel):
    partial = torch.empty(triton.cdiv(x.numel(), 64), dtype=torch.float32, device=x.device)
    if x.numel():
        kernel[(len(partial),)](x.contiguous(), partial, x.numel(), BLOCK=64)
    return partial.sum().to(x.dtype)


@triton.jit
def silu_kernel(dy_ptr, x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """dy_ptr: the upstream gradient, None for the forward pass."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    s = tl.sigmoid(x)
    out = x * s
    if dy_ptr is not None:
        out = tl.load(dy_ptr + i, mask=i < n, other=0.0).to(tl.float32) * s * (1 + x * (1 - s))
    tl.store(out_ptr + i, out, mask=i < n)


def silu_launched(x, dy=None):
    x = x.contiguous()
    out = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 256),)](dy, x, out, x.numel(), BLOCK=256)
    return out


def silu_derivative_launched(dy, x):
    return silu_launched(x, dy.contiguous())


class Scaled(torch.autograd.Function):
    """x.tanh() * w."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x.float().tanh() * w.float()).to(x.dtype)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        t, dy = x.float().tanh(), dy.float()
        dx = dy * w.float() * (1 - t) * (1 + t)
        return dx.to(x.dtype), (dy * t).flatten(0, -2).sum(0).to(w.dtype)


class ScaledBadly(Scaled):
    """Its dw is that of the last row."""

    @staticmethod
    def backward(ctx, dy):
        dx, _ = Scaled.backward(ctx, dy)
        x, w = ctx.saved_tensors
        return dx, (dy.float() * x.float().tanh())[-1].to(w.dtype)
