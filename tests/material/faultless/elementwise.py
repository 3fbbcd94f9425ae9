"""Elementwise kernels: masks, grids, autotuning, heuristics, strided and overlapping views."""

import torch
import triton
import triton.language as tl

from . import randn


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask) + tl.load(y_ptr + offsets, mask), mask)


def elementwise():
    x, y = randn(1000), randn(1000, seed=1)
    out = torch.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, out, 1000, BLOCK=128)
    return out, x + y


def in_place():
    x, y = randn(1000), randn(1000, seed=1)
    expected = x + y
    add_kernel[(8,)](x, y, x, 1000, BLOCK=128)
    return x, expected


def same_tensor_twice():
    x = randn(1000)
    out = torch.empty_like(x)
    add_kernel[(8,)](x, x, out, 1000, BLOCK=128)
    return out, 2 * x


def halves_of_one_tensor():
    both = randn(2000)
    out = torch.empty(1000)
    add_kernel[(8,)](both[:1000], both[1000:], out, 1000, BLOCK=128)
    return out, both[:1000] + both[1000:]


def empty_input():
    x = torch.empty(0)
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(0, 128),)](x, x, out, 0, BLOCK=128)
    return out, x


@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((64, 1), (256, 4), (512, 8))], key=["n"]
)
@triton.jit
def tuned_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, 3 * tl.load(x_ptr + offsets, offsets < n), offsets < n)


def autotuned():
    x = randn(1000)
    out = torch.empty_like(x)
    tuned_kernel[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, out, 1000)
    return out, 3 * x


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})
@triton.jit
def softmax_kernel(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + columns, mask=columns < n, other=-float("inf"))
    tl.store(out_ptr + row * n + columns, tl.softmax(x), mask=columns < n)


def heuristics_and_row_stride():
    x = randn(5, 80)[:, :70]
    out = torch.empty(5, 70)
    softmax_kernel[(5,)](x, out, x.stride(0), 70)
    return out, x.softmax(1)


@triton.jit
def scale(x, factor):
    return x * factor


@triton.jit
def helper_kernel(x_ptr, out_ptr, factor, rows, columns, stride_r, stride_c, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    mask = (r[:, None] < rows) & (c[None, :] < columns)
    x = tl.load(x_ptr + r[:, None] * stride_r + c[None, :] * stride_c, mask=mask)
    tl.store(out_ptr + r[:, None] * columns + c[None, :], scale(x, factor), mask=mask)


def two_dimensional_grid_on_a_transposed_view():
    x = randn(70, 50).t()
    out = torch.empty(50, 70)
    helper_kernel[(triton.cdiv(50, 16), triton.cdiv(70, 32))](x, out, 0.25, 50, 70, *x.stride(), R=16, C=32)
    return out, x * 0.25


def expanded_input():
    x = randn(1, 1).expand(50, 70)
    out = torch.empty(50, 70)
    helper_kernel[(4, 3)](x, out, 2.0, 50, 70, *x.stride(), R=16, C=32)
    return out, 2 * x


PROGRAMS = [
    elementwise,
    in_place,
    same_tensor_twice,
    halves_of_one_tensor,
    empty_input,
    autotuned,
    heuristics_and_row_stride,
    two_dimensional_grid_on_a_transposed_view,
    expanded_input,
]
