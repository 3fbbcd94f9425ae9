"""Kernels of batches, some of which compute a row in a way that follows the number of rows, or the longest of them.

Each function takes the rule by which it does so: ``product(lambda M: 32)`` has a block of K that is fixed.
"""

import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu import choose_interpreter

choose_interpreter()


@triton.jit
def product_kernel(a, b, c, M, N, K, splits, ADD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    share = tl.cdiv(tl.cdiv(K, splits), BK) * BK
    begin = tl.program_id(2) * share
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(begin, min(begin + share, K), BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(x, y, total, input_precision="ieee")
    at, inside = m[:, None] * N + n[None, :], (m[:, None] < M) & (n[None, :] < N)
    if ADD:
        tl.atomic_add(c + at, total, mask=inside)
    else:
        tl.store(c + tl.program_id(2) * M * N + at, total, mask=inside)


@triton.jit
def add_kernel(parts, c, size, splits, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for s in range(splits):
        total += tl.load(parts + s * size + i, mask=i < size, other=0.0)
    tl.store(c + i, total, mask=i < size)


def product(block_of_k, splits=lambda M: 1, atomic=False):
    def call(a, b):
        (M, K), N = a.shape, b.shape[1]
        s = splits(M)
        c, parts = a.new_zeros(M, N), a.new_empty(s, M, N)
        grid = (triton.cdiv(M, 16), triton.cdiv(N, 16), s)
        product_kernel[grid](a, b, c if atomic or s == 1 else parts, M, N, K, s, atomic, 16, 16, block_of_k(M))
        if s > 1 and not atomic:
            add_kernel[(triton.cdiv(M * N, 128),)](parts, c, M * N, s, 128)
        return c

    return call


@triton.jit
def softmax_kernel(x, y, N, BLOCK: tl.constexpr):
    row, lane = tl.program_id(0), tl.arange(0, BLOCK)
    most, total = -float("inf"), 0.0
    for start in range(0, N, BLOCK):
        v = tl.load(x + row * N + start + lane, mask=start + lane < N, other=-float("inf"))
        new = tl.maximum(most, tl.max(v, 0))
        total = total * tl.exp(most - new) + tl.sum(tl.exp(v - new), 0)
        most = new
    for start in range(0, N, BLOCK):
        v = tl.load(x + row * N + start + lane, mask=start + lane < N, other=-float("inf"))
        tl.store(y + row * N + start + lane, tl.exp(v - most) / total, mask=start + lane < N)


def softmax(block):
    def call(x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], block(x.shape[0]))
        return y

    return call


@triton.jit
def attention_kernel(
    q, k, v, lengths, out, sums, mosts, T, longest, splits, H: tl.constexpr, D: tl.constexpr, BT: tl.constexpr
):
    b, s = tl.program_id(0), tl.program_id(1)
    h, d = tl.arange(0, H), tl.arange(0, D)
    length = tl.load(lengths + b)
    x = tl.load(q + b * H * D + h[:, None] * D + d[None, :])
    most, total = tl.full((H,), -1e30, tl.float32), tl.zeros((H,), tl.float32)
    mixed = tl.zeros((H, D), tl.float32)
    share = tl.cdiv(tl.cdiv(longest, splits), BT) * BT
    for start in range(s * share, min(s * share + share, longest), BT):
        t = start + tl.arange(0, BT)
        at = b * T * D + t[:, None] * D + d[None, :]
        keys = tl.load(k + at, mask=t[:, None] < T, other=0.0)
        values = tl.load(v + at, mask=t[:, None] < T, other=0.0)
        score = tl.where(t[None, :] < length, tl.dot(x, tl.trans(keys), input_precision="ieee"), -float("inf"))
        new = tl.maximum(most, tl.max(score, 1))
        p = tl.exp(score - new[:, None])
        total = total * tl.exp(most - new) + tl.sum(p, 1)
        mixed = tl.dot(p, values, mixed * tl.exp(most - new)[:, None], input_precision="ieee")
        most = new
    part = (b * splits + s) * H + h
    tl.store(out + part[:, None] * D + d[None, :], mixed)
    tl.store(sums + part, total)
    tl.store(mosts + part, most)


@triton.jit
def combine_kernel(parts, sums, mosts, out, splits, H: tl.constexpr, D: tl.constexpr):
    b, h, d = tl.program_id(0), tl.arange(0, H), tl.arange(0, D)
    most, total = tl.full((H,), -1e30, tl.float32), tl.zeros((H,), tl.float32)
    mixed = tl.zeros((H, D), tl.float32)
    for s in range(splits):
        part = (b * splits + s) * H + h
        own = tl.load(mosts + part)
        new = tl.maximum(most, own)
        total = total * tl.exp(most - new) + tl.load(sums + part) * tl.exp(own - new)
        one = tl.load(parts + part[:, None] * D + d[None, :])
        mixed = mixed * tl.exp(most - new)[:, None] + one * tl.exp(own - new)[:, None]
        most = new
    tl.store(out + b * H * D + h[:, None] * D + d[None, :], mixed / total[:, None])


def attention(splits, to_the_longest=False, block=lambda B: 32):
    def call(q, k, v, lengths):
        (B, H, D), T, s = q.shape, k.shape[1], splits(q.shape[0])
        out, parts = q.new_empty(B, H, D), q.new_empty(B, s, H, D)
        sums, mosts = q.new_empty(B, s, H), q.new_empty(B, s, H)
        longest = int(lengths.max()) if to_the_longest else T
        attention_kernel[(B, s)](q, k, v, lengths, parts, sums, mosts, T, longest, s, H, D, block(B))
        combine_kernel[(B,)](parts, sums, mosts, out, s, H, D)
        return out

    return call


@triton.jit
def welford(ma, sa, na, mb, sb, nb):
    n = na + nb
    d = mb - ma
    r = tl.where(n == 0, 0.0, nb / n)
    return ma + d * r, sa + sb + d * d * na * r, n


@triton.jit
def var_kernel(x, y, N, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * N + i, mask=i < N, other=0.0)
    m, s, n = tl.reduce((v, v * 0.0, (i < N).to(tl.float32)), 0, welford)
    tl.store(y + r, s / n)


def var(block):
    def call(x):
        y = x.new_empty(x.shape[0])
        var_kernel[(x.shape[0],)](x, y, x.shape[1], block(x.shape[0]))
        return y

    return call


@triton.jit
def scan_kernel(x, y, N, BLOCK: tl.constexpr, REV: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + r * N + i, mask=i < N, other=0.0)
    tl.store(y + r * N + i, tl.cumsum(v, 0, reverse=REV), mask=i < N)


def scan(block, rev=False):
    def call(x):
        y = torch.empty_like(x)
        scan_kernel[(x.shape[0],)](x, y, x.shape[1], block(x.shape[0]), rev)
        return y

    return call


@triton.jit
def persistent_kernel(x, y, M, N, P, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for r in range(tl.program_id(0), M, P):
        v = tl.load(x + r * N + i, mask=i < N, other=0.0)
        tl.store(y + r * N + i, v / tl.sum(v * v, 0) * tl.sigmoid(v), mask=i < N)


def persistent(x):
    y = torch.empty_like(x)
    persistent_kernel[(5,)](x, y, x.shape[0], x.shape[1], 5, 256)
    return y


@triton.jit
def rows2d_kernel(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM,), tl.float32)
    for s in range(0, N, BN):
        n = s + tl.arange(0, BN)
        v = tl.load(x + m[:, None] * N + n[None, :], mask=(m[:, None] < M) & (n[None, :] < N), other=0.0)
        total += tl.sum(v, 1)
    tl.store(y + m, total, mask=m < M)


def rows2d(bm, bn=lambda M: 64):
    def call(x):
        M = x.shape[0]
        y = x.new_empty(M)
        rows2d_kernel[(triton.cdiv(M, bm(M)),)](x, y, M, x.shape[1], bm(M), bn(M))
        return y

    return call


@triton.jit
def cols_kernel(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM,), tl.float32)
    for s in range(0, N, BN):
        n = s + tl.arange(0, BN)
        v = tl.load(x + m[None, :] * N + n[:, None], mask=(m[None, :] < M) & (n[:, None] < N), other=0.0)
        total += tl.sum(v, 0)
    tl.store(y + m, total, mask=m < M)


def cols(bm):
    def call(x):
        M = x.shape[0]
        y = x.new_empty(M)
        cols_kernel[(triton.cdiv(M, bm(M)),)](x, y, M, x.shape[1], bm(M), 64)
        return y

    return call


@triton.jit
def paged_kernel(q, pages, table, lengths, out, MAXP, longest, D: tl.constexpr, P: tl.constexpr):
    b = tl.program_id(0)
    d = tl.arange(0, D)
    p = tl.arange(0, P)
    length = tl.load(lengths + b)
    x = tl.load(q + b * D + d)
    most = -1e30
    total = 0.0
    acc = tl.zeros((D,), tl.float32)
    for i in range(0, longest):
        page = tl.load(table + b * MAXP + i)
        k = tl.load(pages + page * P * D + p[:, None] * D + d[None, :])
        s = tl.where(i * P + p < length, tl.sum(k * x[None, :], 1), -float("inf"))
        new = tl.maximum(most, tl.max(s, 0))
        e = tl.exp(s - new)
        acc = acc * tl.exp(most - new) + tl.sum(e[:, None] * k, 0)
        total = total * tl.exp(most - new) + tl.sum(e, 0)
        most = new
    tl.store(out + b * D + d, acc / total)


def paged(pages, per_row):
    """Attention over keys in pages, which each batch has elsewhere. pages: of all rows, ``per_row`` of each."""

    def call(q, lengths, numbers):
        B = q.shape[0]
        places = iter(torch.randperm(len(pages), generator=torch.Generator().manual_seed(B)).tolist())
        pool, table = torch.full_like(pages, 7.0), torch.zeros(B, per_row, dtype=torch.int32)
        for row in range(B):
            for page in range(-(-int(lengths[row]) // pages.shape[1])):
                at = next(places)
                pool[at], table[row, page] = pages[int(numbers[row]) * per_row + page], at
        out = torch.empty_like(q)
        longest = -(-int(lengths.max()) // pages.shape[1])
        paged_kernel[(B,)](q, pool, table, lengths, out, per_row, longest, q.shape[1], pages.shape[1])
        return out

    return call


def of_lengths_beside_garbage(q, k, v, lengths):
    """Attention whose keys beyond their lengths hold other numbers in each batch; they are masked off."""
    beyond = torch.arange(k.shape[1]) >= lengths[:, None]
    k, v = (torch.where(beyond[:, :, None], 1.0 + len(q), one) for one in (k, v))
    return attention(lambda B: 1)(q, k, v, lengths)


@triton.jit
def pick_kernel(x, y, N, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i, mask=i < N, other=0.0)
    tl.store(y + row, tl.sum(tl.where(i == 5, v, 0.0), 0))


def pick(block):
    """Column 5, as a sum of one number and zeros."""

    def call(x):
        y = x.new_empty(x.shape[0])
        pick_kernel[(x.shape[0],)](x, y, x.shape[1], block(x.shape[0]))
        return y

    return call


@triton.jit
def parts_kernel(x, lengths, y, N, parts, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    n, total = tl.load(lengths + row), 0.0
    for part in range(parts):
        start = part * BLOCK
        if start < n:
            v = tl.load(x + row * N + start + i, mask=start + i < n, other=0.0)
            total = total * 0.5 + tl.sum(v, 0)
    tl.store(y + row, total)


def parts(x, lengths):
    """Sums of parts, of which a program leaves out those beyond its length: then it takes another way than others."""
    y = x.new_empty(x.shape[0])
    parts_kernel[(x.shape[0],)](x, lengths, y, x.shape[1], -(-x.shape[1] // 64), 64)
    return y
