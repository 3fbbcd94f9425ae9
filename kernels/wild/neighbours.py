"""Functions of rows whose order of sums follows the rows beside them, bug for bug; all in float32.

What differs is the order alone, so each is as near to float64 in every batch. Therefore no report names them: a name
asks for values that are off by more than rounding explains, and here an answer that adds in another order than these
functions has other bits in every batch, whatever rule its block follows. What is told is the line where two rows part.
"""

import torch
import torch.nn.functional as F


def tree(x):
    """The sum over the last dimension as a tree: neighbours are added until one number is left. Its shape follows the
    length alone.
    """
    size = 1 << max(x.shape[-1] - 1, 0).bit_length()
    x = F.pad(x, (0, size - x.shape[-1]))
    while x.shape[-1] > 1:
        x = x[..., ::2] + x[..., 1::2]
    return x[..., 0]


def product_in_blocks(a, b, block):
    """a (M, K) @ b (K, N), K in blocks: each is summed as a `tree` and added to those before."""
    total = a.new_zeros(len(a), b.shape[1])
    for start in range(0, a.shape[1], block):
        part = a[:, None, start : start + block] * b[start : start + block].T
        total = total + tree(part)
    return total


def expert_product(a, b, experts=8):
    """The fused MoE kernel of sglang and vLLM without a tuned configuration: a block along K has 64 elements where
    there are no more rows than experts, and 32 where there are more.

    `get_default_config` of sglang (fused_moe_triton_config.py, 083d6013) and of vLLM, there until
    github.com/vllm-project/vllm/pull/34846 (2026-02-18).
    """
    return product_in_blocks(a, b, 64 if len(a) <= experts else 32)


def decode_sum(x, workgroups=256, block=64):
    """The parts of tokenspeed's decode kernel for gfx950, in a plain sum of the rows of x (M, K): as many as keep 256
    workgroups busy, so the fewer the more rows there are. The block of 64 is fixed.

    `_select_num_kv_splits_bh16bn64`, github.com/lightseekorg/tokenspeed/issues/904 (2026-08-03).
    """
    blocks = -(-x.shape[1] // block)
    parts = max(1, min(workgroups // len(x), blocks))
    length = -(-blocks // parts) * block
    total = x.new_zeros(len(x))
    for first in range(0, x.shape[1], length):
        part = x.new_zeros(len(x))
        for start in range(first, min(first + length, x.shape[1]), block):
            part = part + tree(x[:, start : min(start + block, first + length)])
        total = total + part
    return total


def norm_by_threads(x, weight, eps=1e-6):
    """vLLM's RMS norm: 1024 threads a row, or 256 where there are 256 rows or more. Each adds every 1024th square, or
    every 256th, and then the threads' sums are added.

    layernorm_kernels.cu until github.com/vllm-project/vllm/pull/48391, reported in
    github.com/vllm-project/vllm/issues/48271 (2026-07-10). On by default, and in its batch invariant mode, too.
    """
    threads = 1024 if len(x) < 256 else 256
    total = x.new_zeros(len(x), threads)
    for start in range(0, x.shape[1], threads):
        squares = x[:, start : start + threads].square()
        total = total + F.pad(squares, (0, threads - squares.shape[1]))
    return x * torch.rsqrt(tree(total).unsqueeze(1) / x.shape[1] + eps) * weight


def query_attention(q, k, v, longest):
    """FlashAttention 3 for one query: keys in blocks of 192, or of 128 where the longest query of the *batch* has more
    than nine tokens. q: (D,)   k, v: (N, D). The softmax is the online one, without a scale.

    github.com/vllm-project/vllm/issues/51902 (2026-08-12): vLLM 0.25.1 on an H100, 14 heads for queries and 2 for keys.
    Nine tokens of seven heads are 63 rows, and a tile of 64 holds them; ten are 70.
    """
    block = 192 if longest < 10 else 128
    top, total, out = -torch.inf, q.new_zeros(()), torch.zeros_like(q)
    for start in range(0, len(k), block):
        scores = tree(k[start : start + block] * q)
        new = torch.maximum(torch.as_tensor(top), scores.max())
        p, scale = (scores - new).exp(), torch.exp(torch.as_tensor(top) - new)
        total, out = total * scale + tree(p), out * scale + tree((p[:, None] * v[start : start + block]).T)
        top = new
    return out / total
