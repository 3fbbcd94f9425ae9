"""Blocks that are longer than their data: what is computed from all of a block needs neutral values behind its end."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from .pair import pair


@triton.jit
def top_kernel(x, y, n, K: tl.constexpr, WRONG: tl.constexpr, N: tl.constexpr):
    i, k = tl.arange(0, N), tl.arange(0, K)
    start = x + tl.program_id(0) * n + i
    values = tl.load(start, mask=i < n) if WRONG else tl.load(start, mask=i < n, other=-float("inf"))
    tl.store(y + tl.program_id(0) * 2 * K + k, tl.topk(values, K))
    ordered = tl.sort(values, descending=True)
    tl.store(y + tl.program_id(0) * 2 * K + K + i, ordered, mask=i < K)


@pair("masked-load")
def largest_and_sorted(wrong):
    """`tl.topk` and `tl.sort`. Wrong: what is behind the end takes part."""
    x, y = torch.randn(3, 12, device="cuda"), torch.empty(3, 8, device="cuda")
    top_kernel[(3,)](x, y, 12, K=4, WRONG=wrong, N=16)
    return y, x.topk(4).values.repeat(1, 2)


@triton.jit
def linear(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def recurrence_kernel(a, b, y, n, WRONG: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    start = tl.program_id(0) * n + i
    factor = tl.load(a + start, mask=i < n, other=1.0)
    term = tl.load(b + start, mask=i < n) if WRONG else tl.load(b + start, mask=i < n, other=0.0)
    _, states = tl.associative_scan((factor, term), 0, linear, reverse=True)
    tl.store(y + start, states, mask=i < n)


@pair("masked-load")
def a_scan_from_the_end(wrong):
    """A recurrence in two values, which begins behind the end. Wrong: one of them is not neutral there."""
    a, b = torch.rand(2, 12, device="cuda"), torch.randn(2, 12, device="cuda")
    y, state, states = torch.empty(2, 12, device="cuda"), torch.zeros(2), []
    recurrence_kernel[(2,)](a, b, y, 12, WRONG=wrong, N=16)
    for t in reversed(range(12)):
        state = a.cpu()[:, t] * state + b.cpu()[:, t]
        states.insert(0, state)
    return y, torch.stack(states, 1)


@triton.jit
def counts_kernel(x, y, n, WRONG: tl.constexpr, N: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, N)
    values = tl.load(x + i, mask=i < n)
    counts = tl.histogram(values, BINS) if WRONG else tl.histogram(values, BINS, mask=i < n)
    tl.store(y + tl.arange(0, BINS), counts)


@pair("masked-load")
def a_histogram(wrong):
    """Wrong: what is behind the end is counted."""
    x = torch.randint(0, 8, (50,), dtype=torch.int32, device="cuda")
    y = torch.empty(8, dtype=torch.int32, device="cuda")
    counts_kernel[(1,)](x, y, 50, WRONG=wrong, N=64, BINS=8)
    return y, torch.bincount(x.cpu(), minlength=8).int()


@triton.jit
def powers_kernel(x, y, n, WRONG: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    start = x + tl.program_id(0) * n + i
    values = tl.load(start, mask=i < n) if WRONG else tl.load(start, mask=i < n, other=-float("inf"))
    powers = tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=f,f", [values], tl.float32, is_pure=True, pack=1)
    tl.store(y + tl.program_id(0), tl.sum(powers))


@pair("masked-load")
def an_instruction_of_the_gpu(wrong):
    """A sum of 2^x. Wrong: 2^0 behind the end belongs to it."""
    x, y = torch.randn(3, 12, device="cuda"), torch.empty(3, device="cuda")
    powers_kernel[(3,)](x, y, 12, WRONG=wrong, N=16)
    return y, x.exp2().sum(1)


@triton.jit
def norm_kernel(x, y, n, WRONG: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    values = tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=0.0)
    cosines = tl.where(i < n, libdevice.cos(values), 0.0)
    tl.store(y + tl.program_id(0) * n + i, libdevice.tanh(values) / tl.sum(cosines), mask=i < n + WRONG)


@pair("store-conflict")
def functions_of_libdevice(wrong):
    """Wrong: the store's mask reaches into the next row."""
    x, y = torch.rand(3, 12, device="cuda"), torch.empty(37, device="cuda")
    norm_kernel[(3,)](x, y, 12, WRONG=wrong, N=16)
    return y[:36].view(3, 12), x.tanh() / x.cos().sum(1, keepdim=True)


@triton.jit
def merged(mean_a, square_a, count_a, mean_b, square_b, count_b):
    count = count_a + count_b
    share = tl.where(count > 0, count_b / tl.maximum(count, 1.0), 0.0)
    apart = mean_b - mean_a
    return mean_a + apart * share, square_a + square_b + apart * apart * count_a * share, count


@triton.jit
def variance_kernel(x, y, n, WRONG: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    values = tl.load(x + tl.program_id(0) * n + i, mask=i < n)
    counts = tl.where((i < n) | WRONG, 1.0, 0.0)
    values = values if WRONG else tl.where(i < n, values, 0.0)
    mean, square, count = tl.reduce((values, tl.zeros([N], tl.float32), counts), 0, merged)
    tl.store(y + tl.program_id(0), square / count)


@pair("masked-load")
def a_reduction_of_three_values(wrong):
    """Welford's variance. Wrong: what is behind the end counts."""
    x, y = torch.randn(3, 12, device="cuda") + 5, torch.empty(3, device="cuda")
    variance_kernel[(3,)](x, y, 12, WRONG=wrong, N=16)
    return y, x.var(1, correction=0)


@triton.jit
def product_kernel(a, b, y, k, WRONG: tl.constexpr, M: tl.constexpr, K: tl.constexpr):
    m, i = tl.arange(0, M), tl.arange(0, K)
    left, right = a + m[:, None] * k + i[None, :], b + i[:, None] * M + m[None, :]
    if WRONG:
        total = tl.dot(tl.load(left, mask=i[None, :] < k), tl.load(right, mask=i[:, None] < k))
    else:
        total = tl.dot(tl.load(left, mask=i[None, :] < k, other=0), tl.load(right, mask=i[:, None] < k, other=0))
    tl.store(y + m[:, None] * M + m[None, :], total)


@pair("masked-load")
def a_product_of_int8(wrong):
    """Wrong: what is behind the end of the inner dimension is multiplied."""
    a, b = (torch.randint(-99, 99, shape, dtype=torch.int8, device="cuda") for shape in ((16, 20), (20, 16)))
    y = torch.empty(16, 16, dtype=torch.int32, device="cuda")
    product_kernel[(1,)](a, b, y, 20, WRONG=wrong, M=16, K=32)
    return y, a.cpu().int() @ b.cpu().int()


@triton.jit
def scaled_kernel(x, scales, y, n, WRONG: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.program_id(0) * n + i
    values = tl.load(x + at, mask=i < n) if WRONG else tl.load(x + at, mask=i < n, other=0.0)
    scale = tl.load(scales + tl.program_id(0)).to(tl.float32)
    tl.store(y + tl.program_id(0), (tl.sum(values.to(tl.float32)) * scale).to(tl.bfloat16))


@pair("masked-load")
def float8_and_bfloat16(wrong):
    """Wrong: what is behind the end is added."""
    x = torch.randn(3, 12, device="cuda").to(torch.float8_e4m3fn)
    scales, y = torch.rand(3, device="cuda").bfloat16(), torch.empty(3, dtype=torch.bfloat16, device="cuda")
    scaled_kernel[(3,)](x, scales, y, 12, WRONG=wrong, N=16)
    return y, (x.float().sum(1) * scales.float()).bfloat16()
