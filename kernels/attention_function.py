"""Attention as a training script imports it: CUDA by Triton, elsewhere PyTorch; differentiable once.

The op is opaque to torch.compile, which then needs no graph break for a loop over keys or a launch of a kernel.
"""

import torch
from torch import Tensor

from ..solutions import attention as cpu
from .attention import attention_forward
from .attention_backward import attention_backward
from .autograd import Function, gradient
from .language import check_tensors, describe, in_full, use_triton


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    key_lengths: torch.Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> torch.Tensor:
    """softmax(scale · q kᵀ) v over the keys that each query sees; like q. No (M, N) matrix is held in memory.

    q: (B, H, M, D)   k, v: (B, G, N, D), where G divides H: head h of q uses head h // (H / G) of k and v (grouped
    queries; G = 1 is multi-query). Any strides. key_lengths: (B,) int64, of which each counts as at least 0 and at most
    N; None: N for every sequence. Query i sees key j if j < key_lengths[b] and, if causal, j <= i + key_lengths[b] - M:
    the last query is aligned with the last key, where F.scaled_dot_product_attention(is_causal=True) aligns the first.
    scale: 1 / √D where it is None. A query that sees no key gives 0 and gradients of 0. Padding may hold anything.
    Raises ValueError for shapes, dtypes or devices that do not fit. Dao et al. 2022, arXiv:2205.14135.
    """
    _check(q, k, v, key_lengths)
    lengths = None if key_lengths is None else key_lengths.clamp(0, k.shape[2])
    if scale is None and not q.shape[3]:
        scale = 1.0  # of a sum without a term; 1 / √D is none
    return AttentionFunction.apply(q, k, v, lengths, bool(causal), None if scale is None else float(scale))[0]


def _check(q, k, v, key_lengths):
    check_tensors("attention", q=q, k=k, v=v, key_lengths=key_lengths)
    if q.dim() != 4 or k.dim() != 4 or k.shape[0] != q.shape[0] or k.shape[3] != q.shape[3]:
        raise ValueError(f"attention: q is (B, H, M, D), k is (B, G, N, D); they are {describe(q)} and {describe(k)}")
    if v.shape != k.shape:
        raise ValueError(f"attention: v must be of the shape of k; k is {describe(k)}, v is {describe(v)}")
    if q.shape[1] % max(k.shape[1], 1) or (q.shape[1] and not k.shape[1]):
        raise ValueError(f"attention: the {q.shape[1]} heads of q must be a multiple of the {k.shape[1]} of k and v")
    if not k.is_floating_point() or not v.is_floating_point():
        raise ValueError(f"attention: q, k and v must be floating point; they are {q.dtype}, {k.dtype} and {v.dtype}")
    if torch.float64 in (q.dtype, k.dtype, v.dtype) and not q.dtype == k.dtype == v.dtype:
        raise ValueError(f"attention: q, k and v are all float64 or none; they are {q.dtype}, {k.dtype} and {v.dtype}")
    if key_lengths is not None and (key_lengths.shape != q.shape[:1] or key_lengths.dtype != torch.int64):
        raise ValueError(f"attention: key_lengths must be ({q.shape[0]},) int64; they are {describe(key_lengths)}")


def _per_head(x, heads):
    """k or v, expanded to as many heads as q has. The kernels need no such copy: they know the group of a head."""
    return x.repeat_interleave(heads // max(x.shape[1], 1), 1)


@torch.library.custom_op("graded_kernels::attention", mutates_args=())
def forward(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None, causal: bool, scale: float | None
) -> tuple[Tensor, Tensor]:
    """(o, lse)."""
    if use_triton(q):
        return attention_forward(q, k, v, key_lengths, causal, scale)
    heads = q.shape[1]
    with in_full(q):
        o, lse = cpu.attention_forward(q, _per_head(k, heads), _per_head(v, heads), key_lengths, causal, scale)
    return o.contiguous(), lse.contiguous()


@torch.library.custom_op("graded_kernels::attention_backward", mutates_args=())
def backward(
    do: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor,
    key_lengths: Tensor | None, causal: bool, scale: float | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(dq, dk, dv). What the heads of a group give for the key they share is added up, in float32 inside."""
    if use_triton(q):
        dq, dk, dv = attention_backward(do, q, k, v, o, lse, key_lengths, causal, scale)
    else:
        more = _per_head(k, q.shape[1]), _per_head(v, q.shape[1]), o, lse, key_lengths, causal, scale
        with in_full(q):
            dq, dk, dv = cpu.attention_backward(do, q, *more)
    if q.shape[1] != k.shape[1]:
        dk, dv = (x.unflatten(1, (k.shape[1], -1)).sum(2) for x in (dk, dv))
    return dq.contiguous(), dk.contiguous(), dv.contiguous()


def _contiguous_like(x):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


@forward.register_fake
def _(q, k, v, key_lengths, causal, scale):
    dtype = torch.promote_types(q.dtype, torch.float32)
    return _contiguous_like(q), torch.empty(q.shape[:3], dtype=dtype, device=q.device)


@backward.register_fake
def _(do, q, k, v, *rest):
    return _contiguous_like(q), _contiguous_like(k), _contiguous_like(v)


class AttentionFunction(Function):
    """(o, lse). Saves q, k, v and both."""

    @staticmethod
    def forward(q, k, v, key_lengths, causal, scale):
        return forward(q, k, v, key_lengths, causal, scale)

    @staticmethod
    def setup_context(ctx, inputs, output):
        *tensors, ctx.causal, ctx.scale = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*tensors, *output)

    @staticmethod
    def backward(ctx, do, _):
        q, k, v, key_lengths, o, lse = ctx.saved_tensors
        more = key_lengths, ctx.causal, ctx.scale
        return *gradient("attention", backward, do, q, k, v, o, lse, *more), None, None, None
