"""A linear attention of one sequence, whose chunks take their decays relative to one of their rows."""

import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu import choose_interpreter

choose_interpreter()


@triton.jit
def decayed_kernel(q, k, v, g, o, T, C: tl.constexpr, D: tl.constexpr, ANCHOR: tl.constexpr, COARSE: tl.constexpr):
    t, d = tl.program_id(0) * C + tl.arange(0, C), tl.arange(0, D)
    at, on = t[:, None] * D + d[None, :], t[:, None] < T
    c = tl.cumsum(tl.load(g + t, mask=t < T, other=0.0), 0)
    anchor = tl.sum(tl.where(tl.arange(0, C) == ANCHOR, c, 0.0), 0)
    q_in = tl.load(q + at, mask=on, other=0.0) * tl.exp(c - anchor)[:, None]
    k_in = tl.load(k + at, mask=on, other=0.0) * tl.exp(anchor - c)[:, None]
    scores = tl.dot(q_in, tl.trans(k_in), input_precision="ieee")
    scores = tl.where(t[:, None] >= t[None, :], scores, 0.0)
    result = tl.dot(scores, tl.load(v + at, mask=on, other=0.0), input_precision="ieee")
    tl.store(o + at, tl.floor(result) if COARSE else result, mask=on)


def decayed(anchor, coarse=False):
    """A linear attention within chunks of 16, fla#1240: e^(c_i - c_anchor) times e^(c_anchor - c_j)."""

    def call(q, k, v, g):
        o = torch.empty_like(q)
        decayed_kernel[(triton.cdiv(len(q), 16),)](q, k, v, g, o, len(q), 16, q.shape[1], anchor, coarse)
        return o

    return call


def sequence(length):
    draw = torch.Generator().manual_seed(0)
    return *(torch.randn(length, 16, generator=draw) for _ in range(3)), -torch.rand(length, generator=draw)
