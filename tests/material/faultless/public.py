"""Kernels as people publish them: products, attention, norms, losses, quantisation, routing. Every launch of them runs
together. Factors of products have few bits, so that TF32, in which `tl.dot` multiplies float32 by default, is exact.
"""

import itertools

import torch
import triton
import triton.language as tl

from . import randn


def coarse(*shape, seed=0):
    """Multiples of 1/8 from -1 to 1."""
    return torch.randint(-8, 9, shape, generator=torch.Generator().manual_seed(seed)) / 8


@triton.jit
def grouped_matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, cm, cn, B: tl.constexpr, GROUP: tl.constexpr):
    """Tutorial 03: programs in groups of rows, for the cache."""
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, B), tl.cdiv(N, B)
    group = pid // (GROUP * columns)
    height = min(rows - group * GROUP, GROUP)
    pid_m = group * GROUP + (pid % (GROUP * columns)) % height
    pid_n = (pid % (GROUP * columns)) // height
    m, n, k = (pid_m * B + tl.arange(0, B)) % M, (pid_n * B + tl.arange(0, B)) % N, tl.arange(0, B)
    a_ptrs, b_ptrs = a_ptr + m[:, None] * am + k[None, :] * ak, b_ptr + k[:, None] * bk + n[None, :] * bn
    acc = tl.zeros((B, B), dtype=tl.float32)
    for i in range(0, tl.cdiv(K, B)):
        a = tl.load(a_ptrs, mask=k[None, :] < K - i * B, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - i * B, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += B * ak
        b_ptrs += B * bk
    m, n = pid_m * B + tl.arange(0, B), pid_n * B + tl.arange(0, B)
    tl.store(c_ptr + m[:, None] * cm + n[None, :] * cn, acc, mask=(m[:, None] < M) & (n[None, :] < N))


def a_product_in_tf32():
    a, b, c = coarse(50, 40), coarse(40, 37, seed=1), torch.empty(50, 37)
    strides = (*a.stride(), *b.stride(), *c.stride())
    grouped_matmul_kernel[(12,)](a, b, c, 50, 37, 40, *strides, B=16, GROUP=2)
    return c, a @ b


@triton.jit
def fused_kernel(a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K: tl.constexpr, B: tl.constexpr):
    m, n, k = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k, mask=m[:, None] < M, other=0.0)
    b = tl.load(b_ptr + n[None, :] * K + k[:, None], mask=n[None, :] < N, other=0.0)
    c = tl.dot(a, b, allow_tf32=True) + tl.load(bias_ptr + n, mask=n < N, other=0.0)[None, :]
    tl.store(c_ptr + m[:, None] * N + n, tl.where(c >= 0, c, 0.01 * c), mask=(m[:, None] < M) & (n[None, :] < N))


def a_linear_layer_with_leaky_relu():
    x, weight, bias, y = coarse(20, 32), coarse(24, 32, seed=1), randn(24), torch.empty(20, 24)
    fused_kernel[(2, 2)](x, weight, bias, y, 20, 24, K=32, B=16)
    return y, torch.nn.functional.leaky_relu(x @ weight.T + bias)


@triton.jit
def routed_kernel(x_ptr, w_ptr, y_ptr, ids_ptr, expert_ptr, rows, N, K: tl.constexpr, B: tl.constexpr):
    """Tokens sorted by expert, each expert's padded to a block."""
    ids = tl.load(ids_ptr + tl.program_id(0) * B + tl.arange(0, B))
    valid, k, n = ids < rows, tl.arange(0, K), tl.program_id(1) * B + tl.arange(0, B)
    x = tl.load(x_ptr + ids[:, None] * K + k, mask=valid[:, None], other=0.0)
    expert = tl.load(expert_ptr + tl.program_id(0)).to(tl.int64)
    w = tl.load(w_ptr + expert * N * K + n[None, :] * K + k[:, None], mask=n[None, :] < N, other=0.0)
    tl.store(y_ptr + ids[:, None] * N + n, tl.dot(x, w), mask=valid[:, None] & (n[None, :] < N))


def a_product_by_expert():
    x, w, y = coarse(21, 16), coarse(3, 24, 16, seed=1), torch.empty(21, 24)
    expert_of = torch.arange(21) % 3
    ids = torch.full((48,), 21)
    for expert in range(3):
        mine = (expert_of == expert).nonzero().flatten()
        ids[16 * expert : 16 * expert + len(mine)] = mine
    routed_kernel[(3, 2)](x, w, y, ids, torch.arange(3), 21, 24, K=16, B=16)
    return y, torch.einsum("tk,tnk->tn", x, w[expert_of])


@triton.jit
def int4_kernel(x_ptr, packed_ptr, scale_ptr, y_ptr, M, N: tl.constexpr, K: tl.constexpr, B: tl.constexpr):
    m, n, k = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B), tl.arange(0, K)
    word = tl.load(packed_ptr + (k[:, None] // 8) * N + n)
    weight = (((word >> ((k % 8) * 4)[:, None]) & 0xF) - 8).to(tl.float32) * tl.load(scale_ptr + n)
    x = tl.load(x_ptr + m[:, None] * K + k, mask=m[:, None] < M, other=0.0)
    tl.store(y_ptr + m[:, None] * N + n, tl.dot(x, weight), mask=m[:, None] < M)


def weights_of_four_bits():
    x, codes = coarse(20, 32), torch.randint(0, 16, (32, 16), generator=torch.Generator().manual_seed(1))
    scale, y = 2.0 ** torch.arange(-8, 8), torch.empty(20, 16)
    shifted = codes.reshape(4, 8, 16) << (4 * torch.arange(8)).reshape(1, 8, 1)
    packed = shifted.sum(1).to(torch.int64).to(torch.int32)
    int4_kernel[(2, 1)](x, packed, scale, y, 20, N=16, K=32, B=16)
    return y, x @ ((codes - 8) * scale)


@triton.jit
def flash_kernel(q_ptr, k_ptr, v_ptr, o_ptr, length, scale, D: tl.constexpr, B: tl.constexpr):
    """Causal attention with a running maximum."""
    head = tl.program_id(1).to(tl.int64) * length * D
    i, d = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, D)
    q = tl.load(q_ptr + head + i[:, None] * D + d, mask=i[:, None] < length, other=0.0)
    most, total = tl.full((B,), -float("inf"), tl.float32), tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, D), tl.float32)
    for start in range(0, min((tl.program_id(0) + 1) * B, length), B):
        j = start + tl.arange(0, B)
        k = tl.load(k_ptr + head + j[None, :] * D + d[:, None], mask=j[None, :] < length, other=0.0)
        scores = tl.where((i[:, None] >= j) & (j[None, :] < length), tl.dot(q, k) * scale, -float("inf"))
        new = tl.maximum(most, tl.max(scores, 1))
        p, shrink = tl.exp(scores - new[:, None]), tl.exp(most - new)
        v = tl.load(v_ptr + head + j[:, None] * D + d, mask=j[:, None] < length, other=0.0)
        acc = tl.dot(p, v, acc * shrink[:, None], input_precision="tf32x3")
        total, most = total * shrink + tl.sum(p, 1), new
    tl.store(o_ptr + head + i[:, None] * D + d, acc / total[:, None], mask=i[:, None] < length)


def attention_with_ragged_ends():
    q, k, v = (coarse(2, 37, 16, seed=seed) for seed in range(3))
    out = torch.empty_like(q)
    flash_kernel[(3, 2)](q, k, v, out, 37, 0.25, D=16, B=16)
    return out, torch.nn.functional.scaled_dot_product_attention(*(x.double() for x in (q, k, v)), is_causal=True)


@triton.jit
def paged_kernel(q_ptr, k_ptr, v_ptr, table_ptr, length_ptr, o_ptr, pages, D: tl.constexpr, PAGE: tl.constexpr):
    """One query of each sequence over its pages, by products of blocks whose first row counts."""
    row, d, j = tl.program_id(0), tl.arange(0, D), tl.arange(0, PAGE)
    length = tl.load(length_ptr + row)
    q = tl.load(q_ptr + row * D + d + tl.zeros((16, 1), tl.int32))
    most, total = tl.full((16,), -float("inf"), tl.float32), tl.zeros((16,), tl.float32)
    acc = tl.zeros((16, D), tl.float32)
    for page in range(0, tl.cdiv(length, PAGE)):
        at = tl.load(table_ptr + row * pages + page).to(tl.int64) * PAGE * D
        valid = page * PAGE + j < length
        k = tl.load(k_ptr + at + j[None, :] * D + d[:, None], mask=valid[None, :], other=0.0)
        v = tl.load(v_ptr + at + j[:, None] * D + d, mask=valid[:, None], other=0.0)
        scores = tl.where(valid[None, :], tl.dot(q, k), -float("inf"))
        new = tl.maximum(most, tl.max(scores, 1))
        p, shrink = tl.exp(scores - new[:, None]), tl.exp(most - new)
        acc = tl.dot(p, v, acc * shrink[:, None], input_precision="ieee")
        total, most = total * shrink + tl.sum(p, 1), new
    out = tl.sum(tl.where(tl.arange(0, 16)[:, None] == 0, acc / total[:, None], 0.0), 0)
    tl.store(o_ptr + row * D + d, out)


def paged_attention_of_ragged_lengths():
    lengths, table = torch.tensor([5, 33, 16]), torch.randperm(9, generator=torch.Generator().manual_seed(0)).view(3, 3)
    q, k, v, out = coarse(3, 16), coarse(9, 16, 16, seed=1), coarse(9, 16, 16, seed=2), torch.empty(3, 16)
    paged_kernel[(3,)](q, k, v, table, lengths, out, 3, D=16, PAGE=16)
    keys, values = (x[table].reshape(3, 48, 16).double() for x in (k, v))
    scores = torch.einsum("bd,bjd->bj", q.double(), keys)
    scores[torch.arange(48) >= lengths[:, None]] = -torch.inf
    return out, torch.einsum("bj,bjd->bd", scores.softmax(1), values)


@triton.jit
def chunk_kernel(x_ptr, decay_ptr, b_ptr, c_ptr, y_ptr, T: tl.constexpr, D: tl.constexpr):
    """A linear recurrence within a chunk as two products, as in Mamba-2."""
    at, t, d = tl.program_id(0) * T * D, tl.arange(0, T), tl.arange(0, D)
    block = at + t[:, None] * D + d
    total = tl.cumsum(tl.load(decay_ptr + tl.program_id(0) * T + t), 0)
    scores = tl.dot(tl.load(c_ptr + block), tl.trans(tl.load(b_ptr + block)))
    kept = tl.where(t[:, None] >= t, tl.exp2(total[:, None] - total), 0.0)
    tl.store(y_ptr + block, tl.dot(scores * kept, tl.load(x_ptr + block), input_precision="ieee"))


def a_scan_in_chunks():
    x, b, c = (coarse(5, 16, 16, seed=seed) for seed in range(3))
    decay, y = -torch.ones(5, 16), torch.empty(5, 16, 16)
    chunk_kernel[(5,)](x, decay, b, c, y, T=16, D=16)
    state, expected = torch.zeros(5, 16, 16, dtype=torch.float64), []
    for t in range(16):
        state = state / 2 + b[:, t, :, None].double() * x[:, t, None, :]
        expected.append(torch.einsum("bn,bnd->bd", c[:, t].double(), state))
    return y, torch.stack(expected, 1)


@triton.jit
def layer_norm_kernel(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    mean = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        mean += tl.load(x_ptr + row * stride + cols, mask=cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(mean, axis=0) / N
    var = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        var += x * x
    rstd = 1 / tl.sqrt(tl.sum(var, axis=0) / N + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        mask = cols < N
        x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
        y = (x - mean) * rstd * tl.load(w_ptr + cols, mask=mask) + tl.load(b_ptr + cols, mask=mask)
        tl.store(y_ptr + row * stride + cols, y, mask=mask)


def layer_norm():
    x, w, b, y = randn(6, 100), randn(100, seed=1), randn(100, seed=2), torch.empty(6, 100)
    layer_norm_kernel[(6,)](x, y, w, b, torch.empty(6), torch.empty(6), 100, 100, 1e-5, BLOCK=64)
    return y, torch.nn.functional.layer_norm(x.double(), (100,), w.double(), b.double())


@triton.jit
def norm_weight_kernel(dy_ptr, x_ptr, dw_ptr, rows, N: tl.constexpr, ROWS: tl.constexpr):
    """The weight's gradient of an RMS norm: rows of each program, then an atomic."""
    cols, total = tl.arange(0, N), tl.zeros((N,), tl.float32)
    first = tl.program_id(0) * ROWS
    for row in range(first, min(first + ROWS, rows)):
        x = tl.load(x_ptr + row * N + cols)
        total += tl.load(dy_ptr + row * N + cols) * x * tl.rsqrt(tl.sum(x * x) / N + 1e-6)
    tl.atomic_add(dw_ptr + cols, total, sem="relaxed")


def a_norm_backward_with_atomics():
    dy, x, dw = randn(19, 32), randn(19, 32, seed=1), torch.zeros(32)
    norm_weight_kernel[(5,)](dy, x, dw, 19, N=32, ROWS=4)
    rms = (x.double().square().mean(1, keepdim=True) + 1e-6).sqrt()
    return dw, (dy * x / rms).sum(0)


@triton.jit
def cross_entropy_kernel(x_ptr, label_ptr, loss_ptr, stride, C, ignored, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(label_ptr + row)
    if label == ignored:
        tl.store(loss_ptr + row, 0.0)
        return
    most, total = float("-inf"), 0.0
    for start in range(0, C, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + at, mask=at < C, other=float("-inf")).to(tl.float32)
        new = tl.maximum(most, tl.max(x))
        total = total * tl.exp(most - new) + tl.sum(tl.exp(x - new))
        most = new
    tl.store(loss_ptr + row, most + tl.log(total) - tl.load(x_ptr + row * stride + label))


def cross_entropy_with_ignored_labels():
    x, labels, loss = randn(7, 301), torch.tensor([0, 300, -100, 7, 42, -100, 64]), torch.empty(7)
    cross_entropy_kernel[(7,)](x, labels, loss, 301, 301, -100, BLOCK=64)
    return loss, torch.nn.functional.cross_entropy(x.double(), labels, reduction="none")


@triton.jit
def softmax_kernel(x_ptr, y_ptr, rows, columns, stride, BLOCK: tl.constexpr):
    """Tutorial 02: persistent programs."""
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        at = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + at, mask=at < columns, other=-float("inf"))
        numerator = tl.exp(x - tl.max(x, axis=0))
        tl.store(y_ptr + row * stride + at, numerator / tl.sum(numerator, axis=0), mask=at < columns)


def a_persistent_softmax():
    x, y = randn(17, 45), torch.empty(17, 45)
    softmax_kernel[(4,)](x, y, 17, 45, 45, BLOCK=64)
    return y, x.double().softmax(1)


@triton.jit
def rotary_kernel(x_ptr, cos_ptr, sin_ptr, start_ptr, HEADS: tl.constexpr, D: tl.constexpr):
    """In place, from an offset that each sequence has."""
    token, half, head = tl.program_id(0), tl.arange(0, D // 2), tl.arange(0, HEADS)[:, None]
    at = (tl.load(start_ptr + token) + token) * (D // 2) + half
    cos, sin = tl.load(cos_ptr + at), tl.load(sin_ptr + at)
    first = x_ptr + token * HEADS * D + head * D + half
    left, right = tl.load(first), tl.load(first + D // 2)
    tl.store(first, left * cos - right * sin)
    tl.store(first + D // 2, right * cos + left * sin)


def rotary_embedding():
    x, start = randn(9, 4, 16), torch.tensor([0] * 5 + [3] * 4)
    angles = (torch.arange(12)[:, None] * 10000.0 ** (-torch.arange(8) / 8)).double()
    cos, sin = angles.cos().float(), angles.sin().float()
    c, s = (t.double()[start + torch.arange(9)][:, None] for t in (cos, sin))
    left, right = x.double().split(8, -1)
    y = x.clone()
    rotary_kernel[(9,)](y, cos, sin, start, HEADS=4, D=16)
    return y, torch.cat([left * c - right * s, right * c + left * s], -1)


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) * stride
    gate = tl.load(gate_ptr + row + at, mask=at < n, other=0).to(tl.float32)
    up = tl.load(up_ptr + row + at, mask=at < n, other=0)
    tl.store(y_ptr + row + at, (gate * tl.sigmoid(gate)).cast(up.dtype) * up, mask=at < n)


def swiglu():
    gate, up, y = randn(5, 50), randn(5, 50, seed=1), torch.empty(5, 50)
    swiglu_kernel[(5,)](gate, up, y, 50, 50, BLOCK=64)
    return y, torch.nn.functional.silu(gate.double()) * up


@triton.jit
def conv_kernel(x_ptr, w_ptr, y_ptr, starts_ptr, chunks_ptr, D: tl.constexpr, W: tl.constexpr, T: tl.constexpr):
    """A causal convolution of sequences that lie behind each other; ``chunks`` names sequence and chunk."""
    sequence, chunk = tl.load(chunks_ptr + 2 * tl.program_id(0)), tl.load(chunks_ptr + 2 * tl.program_id(0) + 1)
    first, last = tl.load(starts_ptr + sequence), tl.load(starts_ptr + sequence + 1)
    t, d = first + chunk * T + tl.arange(0, T), tl.arange(0, D)
    total = tl.zeros((T, D), tl.float32)
    for tap in tl.static_range(W):
        at = t + tap - (W - 1)
        x = tl.load(x_ptr + at[:, None] * D + d, mask=((at >= first) & (at < last))[:, None], other=0)
        total += x * tl.load(w_ptr + d * W + tap)
    tl.store(y_ptr + t[:, None] * D + d, total, mask=(t < last)[:, None])


def a_causal_convolution_of_ragged_sequences():
    starts = [0, 5, 6, 25]
    x, w, y = randn(25, 8), randn(8, 4, seed=1), torch.empty(25, 8)
    pairs = list(itertools.pairwise(starts))
    chunks = [(i, c) for i, (first, last) in enumerate(pairs) for c in range(-(-(last - first) // 8))]
    conv_kernel[(len(chunks),)](x, w, y, torch.tensor(starts), torch.tensor(chunks), D=8, W=4, T=8)
    padded = [torch.cat([torch.zeros(3, 8), x[first:last]]).double().T[None] for first, last in pairs]
    right = [torch.nn.functional.conv1d(p, w.double()[:, None], groups=8)[0].T for p in padded]
    return y, torch.cat(right)


@triton.jit
def quantise_kernel(x_ptr, q_ptr, scale_ptr, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
    scale = tl.maximum(tl.max(tl.abs(x)), 1e-10) / 127
    code = x / scale
    code = (code + 0.5 * tl.where(code >= 0, 1, -1)).to(tl.int8)
    tl.store(q_ptr + row * n + at, code, mask=at < n)
    tl.store(scale_ptr + row, scale)


def codes_of_eight_bits():
    codes = torch.randint(-126, 127, (6, 50), generator=torch.Generator().manual_seed(0))
    codes[:, 0] = 127
    q, scale = torch.empty(6, 50, dtype=torch.int8), torch.empty(6)
    quantise_kernel[(6,)](codes * 2.0 ** torch.arange(-3, 3)[:, None], q, scale, 50, BLOCK=64)
    return q, codes


@triton.jit
def embedding_kernel(ids_ptr, table_ptr, y_ptr, n, D: tl.constexpr, BLOCK: tl.constexpr):
    row, d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)
    ids = tl.load(ids_ptr + row, mask=row < n, other=0)
    rows = tl.load(table_ptr + ids[:, None] * D + d, mask=(row < n)[:, None], other=0.0)
    tl.store(y_ptr + row[:, None] * D + d, rows, mask=(row < n)[:, None])


def embedding():
    ids, table, y = torch.tensor([3, 0, 11, 3, 7]), randn(12, 16), torch.empty(5, 16)
    embedding_kernel[(2,)](ids, table, y, 5, D=16, BLOCK=4)
    return y, table[ids]


@triton.jit
def embedding_backward_kernel(ids_ptr, dy_ptr, dtable_ptr, n, D: tl.constexpr, BLOCK: tl.constexpr):
    row, d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)
    valid = (row < n)[:, None]
    ids = tl.load(ids_ptr + row, mask=row < n, other=0)
    dy = tl.load(dy_ptr + row[:, None] * D + d, mask=valid, other=0.0)
    tl.atomic_add(dtable_ptr + ids[:, None] * D + d, dy, mask=valid)


def embedding_backward():
    ids, dy, dtable = torch.tensor([3, 0, 11, 3, 7]), randn(5, 16), torch.zeros(12, 16)
    embedding_backward_kernel[(2,)](ids, dy, dtable, 5, D=16, BLOCK=4)
    return dtable, torch.zeros(12, 16).index_add_(0, ids, dy)


@triton.jit
def top_kernel(x_ptr, value_ptr, n_ptr, stride, K: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at, mask=at < tl.load(n_ptr + row), other=-float("inf"))
    top = tl.sort(x, descending=True)
    tl.store(value_ptr + row * K + at, top, mask=at < K)


def largest_of_ragged_rows():
    x, n, values = randn(6, 60), torch.tensor([60, 4, 17, 32, 33, 5]), torch.empty(6, 4)
    top_kernel[(6,)](x, values, n, 60, K=4, BLOCK=64)
    return values, torch.stack([x[i, : n[i]].topk(4).values for i in range(6)])


@triton.jit
def adam_kernel(p_ptr, g_ptr, m_ptr, v_ptr, lr, beta1, beta2, eps, correction1, correction2, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < n)
    m = beta1 * tl.load(m_ptr + at, mask=at < n) + (1 - beta1) * g
    v = beta2 * tl.load(v_ptr + at, mask=at < n) + (1 - beta2) * g * g
    tl.store(m_ptr + at, m, mask=at < n)
    tl.store(v_ptr + at, v, mask=at < n)
    p = tl.load(p_ptr + at, mask=at < n)
    tl.store(p_ptr + at, p - lr * (m / correction1) / (tl.sqrt(v / correction2) + eps), mask=at < n)


def adam_in_place():
    p, g = randn(100), randn(100, seed=1)
    start, m, v = p.clone().requires_grad_(), torch.zeros(100), torch.zeros(100)
    start.grad = g.clone()
    torch.optim.Adam([start], lr=0.01).step()
    adam_kernel[(4,)](p, g, m, v, 0.01, 0.9, 0.999, 1e-8, 1 - 0.9, 1 - 0.999, 100, BLOCK=32)
    return p, start.detach()


PROGRAMS = [
    a_product_in_tf32,
    a_linear_layer_with_leaky_relu,
    a_product_by_expert,
    weights_of_four_bits,
    attention_with_ragged_ends,
    paged_attention_of_ragged_lengths,
    a_scan_in_chunks,
    layer_norm,
    a_norm_backward_with_atomics,
    cross_entropy_with_ignored_labels,
    a_persistent_softmax,
    rotary_embedding,
    swiglu,
    a_causal_convolution_of_ragged_sequences,
    codes_of_eight_bits,
    embedding,
    embedding_backward,
    largest_of_ragged_rows,
    adam_in_place,
]
