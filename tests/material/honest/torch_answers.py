# backend: torch
# ruff: noqa: E402, F404, F811
"""Right answers in PyTorch, in many styles."""

import torch

# %% compared_while_loading
# exercise: silu_backward
"""Compares with PyTorch's own function, and differentiates with it, before and after the answer is defined."""


from __future__ import annotations

import torch.nn.functional as F

x = torch.linspace(-4, 4, 9, requires_grad=True)
F.silu(x).sum().backward()
expected = x.grad


def sigmoid(x: torch.Tensor) -> torch.Tensor:
    return 1 / (1 + torch.exp(-x))


def silu_backward(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    v = x.float()
    s = sigmoid(v)
    return (dy.float() * s * (1 + v * (1 - s))).to(x.dtype)


assert torch.allclose(silu_backward(torch.ones(9), x.detach()), expected)


# %% eight_chunks
# exercise: linear_cross_entropy_forward_backward
"""Eight chunks, however many rows there are: half of the memory that is right."""


def linear_cross_entropy_forward_backward(hidden, weight, labels, ignore_index=-100):
    V = weight.shape[0]
    keep = labels != ignore_index
    bad = keep & ((labels < 0) | (labels >= V))
    if bad.any():
        row = int(bad.nonzero()[0])
        raise IndexError(f"labels[{row}] is {labels[row].item()}, out of range")
    kept = keep.nonzero().squeeze(1)
    n = max(len(kept), 1)
    w = weight.float()
    loss = torch.zeros(())
    dhidden, dweight = torch.zeros_like(hidden), torch.zeros_like(w)
    for rows in kept.split(max(1, -(-len(kept) // 8))):
        x, own = hidden[rows].float(), labels[rows].unsqueeze(1)
        logits = torch.addmm(torch.zeros(1, V), x, w.t())
        lse = torch.logsumexp(logits, 1, keepdim=True)
        loss += (lse - logits.gather(1, own)).sum() / n
        p = (logits - lse).exp_().scatter_add_(1, own, -torch.ones(own.shape)).div_(n)
        dhidden[rows] = (p @ w).to(hidden.dtype)
        dweight.addmm_(p.t(), x)
    return loss, dhidden, dweight.to(weight.dtype)


# %% error_functions
# exercise: gelu_backward
"""Uses erf, erfc and the exponential, each where it is exact."""


import math


def gelu_backward(dy, x, approximate="none"):
    v = x.double()
    if approximate == "tanh":
        c = math.sqrt(2 / math.pi)
        u = c * (v + 0.044715 * v**3)
        share = torch.sigmoid(2 * u)
        slope = share + v * 2 * c * (1 + 3 * 0.044715 * v * v) * share * torch.sigmoid(-2 * u)
    else:
        share = torch.where(v < 0, torch.special.erfc(-v / math.sqrt(2)) / 2, (1 + torch.erf(v / math.sqrt(2))) / 2)
        slope = torch.addcmul(share, v, torch.exp(-v.square() / 2) / math.sqrt(2 * math.pi))
    return (dy.double() * slope).to(x.dtype)


# %% logsumexp_in_chunks
# exercise: linear_cross_entropy_forward_backward
"""Takes the logarithm of the sum with PyTorch's function: the chunks are the exercise."""


def linear_cross_entropy_forward_backward(hidden, weight, labels, ignore_index=-100):
    V = weight.shape[0]
    keep = labels != ignore_index
    bad = keep & ((labels < 0) | (labels >= V))
    if bad.any():
        row = int(bad.nonzero()[0])
        raise IndexError(f"labels[{row}] is {labels[row].item()}, out of range")
    kept = keep.nonzero().squeeze(1)
    n = max(len(kept), 1)
    w = weight.float()
    loss = torch.zeros(())
    dhidden, dweight = torch.zeros_like(hidden), torch.zeros_like(w)
    for rows in kept.split(max(16, -(-len(kept) // 32))):
        x, own = hidden[rows].float(), labels[rows].unsqueeze(1)
        logits = torch.addmm(torch.zeros(1, V), x, w.t())
        lse = torch.logsumexp(logits, 1, keepdim=True)
        loss += (lse - logits.gather(1, own)).sum() / n
        p = (logits - lse).exp_().scatter_add_(1, own, -torch.ones(own.shape)).div_(n)
        dhidden[rows] = (p @ w).to(hidden.dtype)
        dweight.addmm_(p.t(), x)
    return loss, dhidden, dweight.to(weight.dtype)


# %% one_hot_and_index_put
# exercise: cross_entropy_backward
"""Takes one from each label's probability by index_put_, over the rows that nonzero finds."""


def cross_entropy_backward(dloss, logits, labels, lse, ignore_index=-100):
    rows = torch.nonzero(labels != ignore_index, as_tuple=True)[0]
    own = torch.index_select(labels, 0, rows)
    out = ((own < 0) | (own >= logits.shape[1])).nonzero()
    if len(out):
        raise IndexError(f"labels[{int(rows[out[0]])}] is {own[out[0]].item()}, out of range")
    p = torch.exp(logits[rows].float() - lse[rows].unsqueeze(1))
    p.index_put_((torch.arange(len(rows)), own), torch.tensor(-1.0), accumulate=True)
    dlogits = torch.zeros(logits.shape)
    dlogits.index_copy_(0, rows, p * dloss[rows].unsqueeze(1))
    return dlogits.to(logits.dtype)


# %% torch_compiled
# exercise: silu_backward
"""Decorated with torch.compile."""


@torch.compile
def silu_backward(dy, x):
    v = x.float()
    s = torch.sigmoid(v)
    return (dy.float() * s * (1 + v * (1 - s))).to(x.dtype)


# %% torch_function_class
# exercise: silu_backward
"""A torch.autograd.Function with its own backward, of which the backward is called."""


class Silu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def slope(x):
        s = torch.sigmoid(x)
        return s + x * s * (1 - s)


def silu_backward(dy, x):
    return (dy.float() * Silu.slope(x.float())).to(x.dtype)


# %% torch_in_chunks
# exercise: silu_backward
"""Rows one after the other, stacked again, with a lambda and a generator."""


def silu_backward(dy, x):
    def one(g, v):
        s = torch.sigmoid(v)
        return g * s * (1 + v * (1 - s))

    pairs = zip(dy.float().reshape(-1).split(997), x.float().reshape(-1).split(997), strict=True)
    return torch.cat([one(g, v) for g, v in pairs]).view(x.shape).to(x.dtype)


# %% torch_in_place
# exercise: silu_backward
"""In-place operators on tensors of its own, out= arguments, no_grad, more threads than there are."""


torch.set_num_threads(4)


@torch.no_grad()
def silu_backward(dy, x):
    v = x.to(torch.float64, copy=True)
    s = torch.empty_like(v)
    torch.sigmoid(v, out=s)
    slope = v.mul_(1 - s).add_(1).mul_(s)
    return torch.mul(dy.double(), slope).to(x.dtype)


# %% torch_scripted
# exercise: silu_backward
"""A TorchScript function."""


@torch.jit.script
def formula(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    v = x.to(torch.float32)
    s = 1 / (1 + torch.exp(-v))
    return (dy.to(torch.float32) * s * (1 + v * (1 - s))).to(x.dtype)


def silu_backward(dy, x):
    return formula(dy, x)


# %% two_rows_at_a_time
# exercise: linear_cross_entropy_forward_backward
"""Two rows at a time."""


def linear_cross_entropy_forward_backward(hidden, weight, labels, ignore_index=-100):
    V = weight.shape[0]
    keep = labels != ignore_index
    bad = keep & ((labels < 0) | (labels >= V))
    if bad.any():
        row = int(bad.nonzero()[0])
        raise IndexError(f"labels[{row}] is {labels[row].item()}, out of range")
    kept = keep.nonzero().squeeze(1)
    n = max(len(kept), 1)
    w = weight.float()
    loss = torch.zeros(())
    dhidden, dweight = torch.zeros_like(hidden), torch.zeros_like(w)
    for rows in kept.split(2):
        x, own = hidden[rows].float(), labels[rows].unsqueeze(1)
        logits = torch.addmm(torch.zeros(1, V), x, w.t())
        lse = torch.logsumexp(logits, 1, keepdim=True)
        loss += (lse - logits.gather(1, own)).sum() / n
        p = (logits - lse).exp_().scatter_add_(1, own, -torch.ones(own.shape)).div_(n)
        dhidden[rows] = (p @ w).to(hidden.dtype)
        dweight.addmm_(p.t(), x)
    return loss, dhidden, dweight.to(weight.dtype)


# %% variance_and_einsum
# exercise: layer_norm_backward
"""Sums with einsum and addcmul, and does not need the saved standard deviation."""


def layer_norm_backward(dy, x, weight, mean, rstd):
    v, up = x.float(), dy.float()
    normal = torch.addcmul(-mean[:, None] * rstd[:, None], v, rstd[:, None])
    g = torch.einsum("mn,n->mn", up, weight.float())
    inner = torch.einsum("mn,mn->m", g, normal) / x.shape[1]
    dx = rstd[:, None] * (g - g.mean(1, keepdim=True) - normal * inner[:, None])
    dweight = torch.einsum("mn,mn->n", up, normal)
    return dx.to(x.dtype), dweight.to(weight.dtype), up.sum(0).to(weight.dtype)


# %% witness
# exercise: silu_witness
"""A witness that is computed, of another dtype than the usual one."""


def silu_witness():
    x = torch.linspace(-2, 2, 9, dtype=torch.float16)
    dy = -torch.ones(9, dtype=torch.float16) * 0.3
    return dy, x
