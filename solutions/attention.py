"""Attention in PyTorch, block by block over the keys: the scores of all queries with all keys never exist at once. A
block's scores are changed in place: on a CPU, new tensors for each step took two fifths of the time, for fresh memory.

    s_ij = scale · q_i · k_j  where query i sees key j, -inf elsewhere        lse_i = log Σ_j e^(s_ij)
    o_i  = Σ_j p_ij v_j,   p_ij = e^(s_ij - lse_i)
    dv_j = Σ_i p_ij do_i,   ds_ij = p_ij (do_i · v_j - do_i · o_i)
    dq_i = scale Σ_j ds_ij k_j,   dk_j = scale Σ_i ds_ij q_i

q, o, do: (B, H, M, D)   k, v: (B, H, N, D)   lse: (B, H, M), natural logarithm, float32   key_lengths: (B,) int64.
Query i sees key j if j < key_lengths[b] and, if causal, j <= i + key_lengths[b] - M: the last query is aligned with the
last key. A query that sees no key gives o = 0, lse = -inf and gradients of 0. In float32 (float64 for float64).
Milakov and Gimelshein 2018, arXiv:1805.02867 (the online softmax); Dao et al. 2022, arXiv:2205.14135 (attention by it).
"""

import torch

# %% attention_forward
BLOCK = 64  # keys at a time


def wide(x: torch.Tensor) -> torch.Tensor:
    """x in float32, or in float64 where it is that."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def visible(key_lengths: torch.Tensor, causal: bool, queries: int, keys: range, device: torch.device) -> torch.Tensor:
    """(B or 1, 1, M, n) bool: which of ``keys``, a range of n, each of the M queries sees."""
    j = torch.arange(keys.start, keys.stop, device=device)
    lengths = key_lengths.view(-1, 1, 1, 1)
    seen = j < lengths
    if causal:
        i = torch.arange(queries, device=device).view(-1, 1)
        seen = seen & (j <= i + lengths - queries)
    return seen.expand(-1, -1, queries, -1)


def padding_off(x: torch.Tensor, key_lengths: torch.Tensor, keys: range) -> torch.Tensor:
    """Keys or values number ``keys``, in float32, with 0 where they are padding: 0 · NaN is NaN."""
    j = torch.arange(keys.start, keys.stop, device=x.device).view(-1, 1)
    return wide(x[:, :, keys.start : keys.stop]).masked_fill(j >= key_lengths.view(-1, 1, 1, 1), 0)


def all_keys(key_lengths: torch.Tensor | None, k: torch.Tensor) -> torch.Tensor:
    return key_lengths if key_lengths is not None else torch.full((k.shape[0],), k.shape[2], device=k.device)


def attention_forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    key_lengths: torch.Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(o, lse): o like q, lse (B, H, M) float32. scale: 1 / √D where it is left out."""
    M, N, D = q.shape[2], k.shape[2], q.shape[3]
    scale = D**-0.5 if scale is None else scale
    lengths = all_keys(key_lengths, k)
    x = wide(q)
    top = x.new_full((*q.shape[:3], 1), -torch.inf)  # the largest score so far
    total = torch.zeros_like(top)  # Σ e^(s - top)
    acc = torch.zeros_like(x)  # Σ e^(s - top) v
    for start in range(0, N, BLOCK):
        keys = range(start, min(start + BLOCK, N))
        s = (x @ padding_off(k, lengths, keys).mT).mul_(scale)
        s.masked_fill_(~visible(lengths, causal, M, keys, q.device), -torch.inf)
        new_top = torch.maximum(top, s.amax(-1, keepdim=True))
        shift = new_top.masked_fill(new_top == -torch.inf, 0)  # -inf - -inf is NaN
        p, keep = s.sub_(shift).exp_(), (top - shift).exp()
        total = total * keep + p.sum(-1, keepdim=True)
        acc = acc * keep + p @ padding_off(v, lengths, keys)
        top = new_top
    o = acc / total.masked_fill(total == 0, 1)
    return o.to(q.dtype), (top + total.log()).squeeze(-1)


# %% attention_backward
def attention_backward(
    do: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    o: torch.Tensor,
    lse: torch.Tensor,
    key_lengths: torch.Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(dq, dk, dv), like q, k and v, from what attention_forward returned as o and lse."""
    M, N, D = q.shape[2], k.shape[2], q.shape[3]
    scale = D**-0.5 if scale is None else scale
    lengths = all_keys(key_lengths, k)
    x, g = wide(q), wide(do)
    delta = (g * wide(o)).sum(-1, keepdim=True)  # Σ_j p_ij dp_ij, without the p_ij
    dq = torch.zeros_like(x)
    dk, dv = torch.empty(k.shape, dtype=k.dtype, device=k.device), torch.empty(v.shape, dtype=v.dtype, device=v.device)
    for start in range(0, N, BLOCK):
        keys = range(start, min(start + BLOCK, N))
        key, value = padding_off(k, lengths, keys), padding_off(v, lengths, keys)
        hidden = ~visible(lengths, causal, M, keys, q.device)
        p = (x @ key.mT).mul_(scale).sub_(lse.unsqueeze(-1)).exp_().masked_fill_(hidden, 0)
        ds = (g @ value.mT).sub_(delta).mul_(p).masked_fill_(hidden, 0)
        dq += (ds @ key) * scale
        own = slice(keys.start, keys.stop)
        padding = torch.arange(keys.start, keys.stop, device=k.device).view(-1, 1) >= lengths.view(-1, 1, 1, 1)
        dk[:, :, own] = ((ds.mT @ x) * scale).masked_fill(padding, 0).to(k.dtype)
        dv[:, :, own] = (p.mT @ g).masked_fill(padding, 0).to(v.dtype)
    return dq.to(q.dtype), dk, dv


# %% merge_attention
def merge_attention(
    o_a: torch.Tensor, lse_a: torch.Tensor, o_b: torch.Tensor, lse_b: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(o, lse): attention over the keys of a and of b together, from attention over each. o is like o_a.

    o_a, o_b: (B, H, M, D)   lse_a, lse_b, lse: (B, H, M) float32, natural logarithms; -inf where a piece has no key.
    """
    top = torch.maximum(lse_a, lse_b)
    shift = top.masked_fill(top == -torch.inf, 0)  # -inf - -inf is NaN
    a, b = (lse_a - shift).exp().unsqueeze(-1), (lse_b - shift).exp().unsqueeze(-1)
    total = a + b
    o = (a * wide(o_a) + b * wide(o_b)) / total.masked_fill(total == 0, 1)
    return o.to(o_a.dtype), top + total.squeeze(-1).log()


# %% attention_witness
def attention_witness() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, bool]:
    """(q, k, v, key_lengths, causal), finite, on which softmax by its formula gives NaN, or is off by more than what
    rounding in float32 explains, and right code is not.
    At most 65,536 elements in all.
    """
    q = torch.tensor([0.5, -1.0, 2.0, 1.5]).view(2, 1, 1, 2)
    return q, q + 1, q - 1, torch.tensor([1, 0]), False  # the second sequence of the batch has no key


# %% merge_witness
def merge_witness() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """(o_a, lse_a, o_b, lse_b) on which reading the natural logarithms as base 2 is off by more than 1 % of the largest
    element of both pieces.
    At most 65,536 elements in all.
    """
    o_a, o_b = torch.ones(1, 1, 1, 2), torch.full((1, 1, 1, 2), -1.0)
    return o_a, torch.full((1, 1, 1), 2.0).log(), o_b, torch.full((1, 1, 1), 8.0).log()  # Z = [2, 8]: 1/5 and 4/5
