# exercise: silu_forward
# backend: triton
# ruff: noqa: E402, F404, F811, F405
"""Right kernels of one function, in many styles."""

import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y


# %% autotune
"""Two configurations, a grid that depends on the one chosen."""


@triton.autotune(configs=[triton.Config({"BLOCK": 128}, num_warps=2), triton.Config({"BLOCK": 512})], key=["n"])
@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y


# %% block_pointers
"""Block pointers, which check the boundary themselves."""


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    source = tl.make_block_ptr(x_ptr, (n,), (1,), (start,), (BLOCK,), (0,))
    target = tl.make_block_ptr(y_ptr, (n,), (1,), (start,), (BLOCK,), (0,))
    x = tl.load(source, boundary_check=(0,), padding_option="zero").to(tl.float32)
    tl.store(target, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), boundary_check=(0,))


# %% chunks
"""The output in chunks, a launch for each, the last one shorter."""


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    for source, target in zip(x.view(-1).split(700), y.view(-1).split(700), strict=True):
        if source.numel():
            silu_kernel[(triton.cdiv(source.numel(), 256),)](source, target, source.numel(), BLOCK=256)
    return y


# %% class_with_a_launcher
"""An object that launches, called through functools.partial, with type hints that are text."""


from __future__ import annotations

from dataclasses import dataclass
from functools import partial


@dataclass(frozen=True)
class Launcher:
    kernel: object
    block: int = 256

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        if x.numel():
            launch = partial(self.kernel[(triton.cdiv(x.numel(), self.block),)], x, y, BLOCK=self.block)
            launch(x.numel(), num_warps=4)
        return y


silu_forward = Launcher(silu_kernel)


# %% constants_of_the_module
"""Constants of the module: from a literal, an expression and a function, and a type."""


import math

BLOCK_SIZE = 1 << 8
LOG2E = tl.constexpr(1 / math.log(2))
ONE: tl.constexpr = tl.constexpr(1.0)
WIDE = tl.float32


def steps(n):
    return sum(range(n)) - n


LIMIT = tl.constexpr(float(steps(50)))


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(WIDE)
    e = tl.exp2(-tl.minimum(tl.abs(x), LIMIT) * LOG2E)
    tl.store(y_ptr + offsets, (x * tl.where(x < 0, e, ONE) / (ONE + e)).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), BLOCK_SIZE),)](x, y, x.numel(), BLOCK=BLOCK_SIZE)
    return y


# %% decorator_options
"""Options in the decorator decide how an argument of 1 is launched."""


@triton.jit(do_not_specialize=["one"])
def silu_kernel(x_ptr, y_ptr, n, one, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x) * one).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), 1, BLOCK=256)
    return y


# %% descending
"""The last block first, by integer arithmetic on program numbers."""


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    offsets = block.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x_ptrs = x_ptr + offsets
    inside = (offsets >= 0) & (offsets < n)
    x = tl.load(x_ptrs, inside, 0.0).to(tl.float32)
    gate = 1.0 / (1.0 + tl.exp(-x))
    tl.store(y_ptr + offsets, (x * gate).to(y_ptr.dtype.element_ty), inside)


# %% dispatches
"""A library's function: its kernel on a GPU, PyTorch elsewhere."""


def silu_forward(x):
    if not (x.is_cuda and torch.cuda.is_available()):
        return torch.nn.functional.silu(x)
    assert triton.runtime.driver.active.get_current_target().backend == "cuda"
    x = x.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel():
        with torch.cuda.device(x.device):
            silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y


# %% function_as_argument
"""A kernel that is given the function to apply."""


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def map_kernel(x_ptr, y_ptr, n, function: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, function(x).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        map_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), silu, BLOCK=256)
    return y


# %% helpers
"""Kernels that call kernels that call kernels."""


@triton.jit
def half(x):
    return 0.5 * x


@triton.jit
def logistic(x):
    e = tl.exp(-tl.abs(x))
    return tl.where(x < 0, e, 1.0) / (1.0 + e)


@triton.jit
def silu(x):
    return half(x) * logistic(x) * 2.0


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (silu(x)).to(y_ptr.dtype.element_ty), mask=mask)


# %% heuristics
"""A heuristic that chooses the block from the arguments."""


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(min(args["n"], 2048))})
@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y


# %% imported_by_name
"""Triton's language imported by name and by other names."""


from triton import jit
from triton import language as L
from triton.language import arange, constexpr, float32, load, sigmoid, store


@jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: constexpr):
    offsets = L.program_id(0) * BLOCK + arange(0, BLOCK)
    mask = offsets < n
    x = load(x_ptr + offsets, mask=mask, other=0.0).to(float32)
    store(y_ptr + offsets, (x * sigmoid(x)).to(y_ptr.dtype.element_ty), mask=mask)


# %% keyword_launch
"""Every argument by keyword, in another order, a scalar of every kind among them."""


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, scale, flip, nothing, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32) * scale
    x = tl.where(flip, -x, x)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
    n = x.numel()
    if n:
        grid = (triton.cdiv(n, 256),)
        silu_kernel[grid](BLOCK=256, nothing=None, flip=False, scale=1.0, n=n, y_ptr=y, x_ptr=x, num_stages=3)
    return y


# %% loud
"""Prints and warns, and keeps its own notes."""


import warnings

calls = []


def silu_forward(x):
    calls.append(x.shape)
    print("silu_forward", x.shape, x.dtype)
    warnings.warn("look at me", stacklevel=1)
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y


# %% mathematics_bound_by_the_module
"""Functions of Triton's mathematics under names of the module: imported, unpacked, found by a loop, kept in a class."""


import triton.language.extra.libdevice as device_library
from triton.language.extra import libdevice
from triton.language.extra.libdevice import *  # noqa: F403
from triton.language.math import abs as magnitude

exp, exp2 = libdevice.exp, tl.exp2

for name in ("maximum", "where"):
    globals()[f"tl_{name}"] = getattr(tl, name)


class Shim:
    minimum = tl.minimum


least = Shim.minimum
WIDE, TWO = tl.float32, tl.constexpr(sum((1, 1)))
LIMITS = tl.constexpr(tuple(float(n) for n in (0, 1000)))


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(WIDE)
    half = exp(-tl_maximum(least(magnitude(x), LIMITS[1]), LIMITS[0]) / TWO)
    e = pow(half, 2) * exp2(0.0) + tl.extra.libdevice.erf(0.0 * half) * device_library.expm1(0.0 * half)
    tl.store(y_ptr + offsets, (x * tl_where(x < 0, e, 1.0) / (1.0 + e)).to(y_ptr.dtype.element_ty), mask=mask)


# %% one_program_loops
"""One program that loops over all blocks."""


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    silu_kernel[(1,)](x, y, x.numel(), BLOCK=512)
    return y


# %% rows_and_strides
"""A grid of two dimensions over rows, with the tensor's own strides and no copy."""


@triton.jit
def silu_kernel(x_ptr, y_ptr, columns, row_step, column_step, BLOCK: tl.constexpr):
    row, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    columns_here = block * BLOCK + tl.arange(0, BLOCK)
    mask = columns_here < columns
    x = tl.load(x_ptr + row * row_step + columns_here * column_step, mask=mask, other=0.0).to(tl.float32)
    y = x * tl.sigmoid(x)
    tl.store(y_ptr + row * columns + columns_here, y.to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rows = x if x.dim() == 2 else x.reshape(1, -1)
    if x.numel():
        grid = (rows.shape[0], triton.cdiv(rows.shape[1], 64))
        silu_kernel[grid](rows, y, rows.shape[1], rows.stride(0), rows.stride(1), BLOCK=64)
    return y


# %% second_definition
"""A kernel defined twice, the second time right, as in a notebook that was worked on."""


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (tl.maximum(x, 0.0)).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=mask)


# %% switch
"""A constexpr switch, static_range, static_assert and a default parameter."""


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EXACT: tl.constexpr = True, PARTS: tl.constexpr = 2):
    tl.static_assert(BLOCK % PARTS == 0)
    size: tl.constexpr = BLOCK // PARTS  # once: a constexpr cannot be assigned again
    for part in tl.static_range(PARTS):
        offsets = tl.program_id(0) * BLOCK + part * size + tl.arange(0, size)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        if EXACT:
            y = x * tl.sigmoid(x)
        else:
            y = tl.maximum(x, 0.0)
        tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


# %% two_launches
"""Two kernels, each for its half, with offsets into one tensor."""


@triton.jit
def second_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offsets, (x / (1 + tl.exp(-x))).to(y_ptr.dtype.element_ty), mask=mask)


def silu_forward(x):
    x = x.contiguous()
    y = x.new_empty(x.shape)
    n, half = x.numel(), x.numel() // 2
    if half:
        silu_kernel[(triton.cdiv(half, 256), 1, 1)](x, y, half, BLOCK=256)
    if n:
        rest = n - half
        grid = (triton.cdiv(rest, 256), 1, 1)
        second_kernel[grid](x.view(-1)[half:], y.view(-1).narrow(0, half, rest), rest, BLOCK=256)
    return y


# %% views
"""Views, reshapes and flattenings around the launch."""


def silu_forward(x):
    flat = x.reshape(-1).contiguous().unsqueeze(0).squeeze(0).detach()
    y = torch.empty_like(flat)
    if flat.numel():
        silu_kernel[(triton.cdiv(flat.numel(), 256),)](flat, y, flat.numel(), BLOCK=256)
    return y.view(x.shape)
