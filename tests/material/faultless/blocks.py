"""What is done with blocks: dot, shapes, scans, reductions, random numbers."""

import torch
import triton
import triton.language as tl

from . import randn


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, B: tl.constexpr):
    m = (tl.program_id(0) * B + tl.arange(0, B)) % M
    n = (tl.program_id(1) * B + tl.arange(0, B)) % N
    k = tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, tl.cdiv(K, B)):
        a = tl.load(
            a_ptr + m[:, None] * stride_am + (start * B + k)[None, :], mask=k[None, :] < K - start * B, other=0.0
        )
        b = tl.load(
            b_ptr + (start * B + k)[:, None] * stride_bk + n[None, :], mask=k[:, None] < K - start * B, other=0.0
        )
        acc = tl.dot(a, b, acc, input_precision="ieee")
    r, c = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    tl.store(c_ptr + r[:, None] * N + c[None, :], acc, mask=(r[:, None] < M) & (c[None, :] < N))


def matmul_with_wrapped_rows():
    a, b = randn(40, 50), randn(50, 24, seed=1)
    c = torch.empty(40, 24)
    matmul_kernel[(3, 2)](a, b, c, 40, 24, 50, a.stride(0), b.stride(0), B=16)
    return c, a @ b


@triton.jit
def shapes_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    grid = tl.reshape(x, (N // 4, 4))
    total = tl.sum(tl.trans(grid), axis=1)
    peak = tl.max(grid, axis=0, keep_dims=True)
    spread = tl.broadcast_to(peak, (N // 4, 4)) + tl.expand_dims(total, 0)
    left, right = tl.split(tl.reshape(grid + spread, (N // 4, 2, 2)))
    y = tl.reshape(tl.join(left, right), (N,))
    tl.store(out_ptr + tl.arange(0, N), tl.flip(tl.sort(y), 0))


def views_and_broadcasts():
    x = randn(64)
    out = torch.empty(64)
    shapes_kernel[(1,)](x, out, N=64)
    grid = x.reshape(16, 4)
    return out, (grid + grid.max(0).values + grid.sum(0)).reshape(-1).sort(descending=True).values


@triton.jit
def scan_kernel(x_ptr, sum_ptr, product_ptr, back_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(sum_ptr + i, tl.cumsum(x, axis=0))
    tl.store(product_ptr + i, tl.cumprod(x, axis=0))
    tl.store(back_ptr + i, tl.cumsum(x, axis=0, reverse=True))


def scans():
    x = randn(64) * 0.1 + 1
    outs = [torch.empty(64) for _ in range(3)]
    scan_kernel[(1,)](x, *outs, N=64)
    return torch.stack(outs), torch.stack([x.cumsum(0), x.cumprod(0), x.flip(0).cumsum(0).flip(0)])


@triton.jit
def welford(count_a, mean_a, m2_a, count_b, mean_b, m2_b):
    count = count_a + count_b
    delta = mean_b - mean_a
    return count, mean_a + delta * count_b / count, m2_a + m2_b + delta * delta * count_a * count_b / count


@triton.jit
def welford_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    _, _, m2 = tl.reduce((tl.full([N], 1.0, tl.float32), x, tl.zeros([N], tl.float32)), 0, welford)
    tl.store(out_ptr + tl.program_id(0), m2 / N)


def a_reduction_of_our_own():
    x = randn(4, 64) + 10
    out = torch.empty(4)
    welford_kernel[(4,)](x, out, N=64)
    return out, x.var(1, unbiased=False)


@triton.jit
def indices_kernel(x_ptr, value_ptr, index_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    value, index = tl.max(x, axis=0, return_indices=True)
    tl.store(value_ptr + tl.program_id(0), value)
    tl.store(index_ptr + tl.program_id(0), index)


def maximum_with_index():
    x = randn(4, 64)
    values, index = torch.empty(4), torch.empty(4, dtype=torch.int32)
    indices_kernel[(4,)](x, values, index, N=64)
    return torch.stack([values, index.float()]), torch.stack([x.max(1).values, x.argmax(1).float()])


@triton.jit
def dropout_kernel(x_ptr, out_ptr, seed, p, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, tl.load(x_ptr + offsets) / (1 - p), 0.0))


def random_numbers():
    out, again = torch.empty(256), torch.empty(256)
    dropout_kernel[(1,)](torch.ones(256), out, 123, 0.5, BLOCK=256)
    dropout_kernel[(1,)](torch.ones(256), again, 123, 0.5, BLOCK=256)
    return out, again


PROGRAMS = [
    matmul_with_wrapped_rows,
    views_and_broadcasts,
    scans,
    a_reduction_of_our_own,
    maximum_with_index,
    random_numbers,
]
