"""Attention and its gradients in float64, from all scores at once, and what float32 and half precision lose of them."""

import torch
from torch import Tensor

from ...judge import Floors
from ..cases.rounding import EPS, floors


def seen_keys(q: Tensor, k: Tensor, key_lengths: Tensor | None, causal: bool) -> Tensor:
    """(B, 1, M, N) bool: which query sees which key."""
    (B, _, M, _), N = q.shape, k.shape[2]
    lengths = (torch.full((B,), N) if key_lengths is None else key_lengths).view(-1, 1, 1, 1)
    j = torch.arange(N)
    seen = j < lengths
    if causal:
        seen = seen & (j <= torch.arange(M).view(-1, 1) + lengths - M)
    return seen.expand(B, 1, M, N)


def real(x: Tensor, key_lengths: Tensor | None) -> Tensor:
    """x in float64, 0 in its padding, which never matters."""
    if key_lengths is None:
        return x.double()
    return x.double().masked_fill(torch.arange(x.shape[2]).view(-1, 1) >= key_lengths.view(-1, 1, 1, 1), 0)


def scored(
    q: Tensor, k: Tensor, key_lengths: Tensor | None, causal: bool, scale: float | None
) -> tuple[Tensor, Tensor, Tensor]:
    """(scores, -inf where not seen; scale · Σ |q| |k|; seen), in float64."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    seen = seen_keys(q, k, key_lengths, causal)
    x, y = q.double(), real(k, key_lengths)
    s = (x @ y.mT) * scale
    return s.masked_fill(~seen, -torch.inf), (x.abs() @ y.abs().mT) * abs(scale), seen


def attention(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None = None, causal: bool = False, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """(o, lse) from all scores at once."""
    s, _, seen = scored(q, k, key_lengths, causal, scale)
    p, lse = softmax(s, seen)
    return p @ real(v, key_lengths), lse


def softmax(s: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
    """(p, lse) of scores."""
    lse = s.logsumexp(-1) if s.shape[-1] else s.new_full(s.shape[:-1], -torch.inf)
    return (s - lse.masked_fill(lse == -torch.inf, 0).unsqueeze(-1)).exp().masked_fill(~seen, 0), lse


def attention_gradients(
    do: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    key_lengths: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(dq, dk, dv), with o and lse as they are given."""
    p, ds, g, _ = _backward_parts(do, q, k, v, o, lse, key_lengths, causal, scale)
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    dq, dk, dv = ds @ real(k, key_lengths) * factor, ds.mT @ q.double() * factor, p.mT @ g
    return dq, real(dk, key_lengths), real(dv, key_lengths)


def _backward_parts(
    do: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    key_lengths: Tensor | None,
    causal: bool,
    scale: float | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    s, size, seen = scored(q, k, key_lengths, causal, scale)
    g = do.double()
    p = (s - lse.double().unsqueeze(-1)).exp().masked_fill(~seen, 0)
    delta = (g * o.double()).sum(-1, keepdim=True)
    return p, (p * (g @ real(v, key_lengths).mT - delta)).masked_fill(~seen, 0), g, size


def half_ulp(*tensors: Tensor) -> float:
    """The largest relative error of one rounding to any of these dtypes."""
    return max(torch.finfo(t.dtype).eps / 2 for t in tensors if t.dtype != torch.float64)


def half_subnormal(*tensors: Tensor) -> float:
    """The largest absolute error of one rounding to any of these dtypes where the result is subnormal; in float32 it
    may be made 0.
    """
    formats = [torch.finfo(t.dtype) for t in tensors if t.dtype != torch.float64]
    return max(TINY, *(f.smallest_normal * f.eps / 2 for f in formats))


TINY = 1.2e-38  # what a device loses that makes 0 of float32's subnormals, as `ex2.approx.ftz.f32` does


def forward_floor(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None = None, causal: bool = False, scale: float | None = None
) -> Floors:
    """A score is a float32 sum of D products. What it loses p loses, and every sum over p; p may be rounded to the
    dtype of v before its product with v.
    """
    s, size, seen = scored(q, k, key_lengths, causal, scale)
    p, lse = softmax(s, seen)
    p = p.nan_to_num()
    lost = EPS * (4 * size + 8).nan_to_num()  # of a score, and of e^(s - top)
    values = real(v, key_lengths).abs().nan_to_num(posinf=0)
    of_lse = (p * lost).sum(-1, keepdim=True)
    rounded = half_ulp(q, v) if v.dtype != torch.float32 else 0.0
    o = (p * (lost + of_lse + rounded) + half_subnormal(q, v) * (p > 0)) @ values
    return floors(o + TINY, of_lse.squeeze(-1) + EPS * lse.abs().nan_to_num(posinf=0))


def backward_floor(
    do: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    key_lengths: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Floors:
    """Floors for gradients whose p and ds are rounded to half before their products, that take Σ p dp for do · o, or
    that divide by Σ e^s again, which has lost what its scores have.
    """
    p, ds, g, size = _backward_parts(do, q, k, v, o, lse, key_lengths, causal, scale)
    factor = abs(q.shape[-1] ** -0.5 if scale is None else scale)
    keys, values = real(k, key_lengths).abs(), real(v, key_lengths).abs()
    rounded = half_ulp(q, k, v)
    of_lse = 4 * (p * size).nan_to_num(posinf=0).sum(-1, keepdim=True)
    of_lse = of_lse + 2 * lse.double().abs().nan_to_num(posinf=0).unsqueeze(-1)
    of_p = p * EPS * (4 * size + of_lse + 8)
    dp = (ds / p.masked_fill(p == 0, 1)).abs()
    of_delta = (8 * EPS + 2 * rounded) * (g * o.double()).abs()  # do · o
    of_dp = 8 * EPS * (g.abs() @ values.mT) + of_delta.sum(-1, keepdim=True)
    of_dp = of_dp + (of_p * (g @ real(v, key_lengths).mT).abs().nan_to_num(posinf=0)).sum(-1, keepdim=True)  # of Σ p dp
    subnormal = half_subnormal(q, k, v) * (p > 0)
    of_ds = of_p * dp + p * of_dp + (4 * EPS + 2 * rounded) * ds.abs()
    of_ds = of_ds + subnormal * (1 + dp)  # where ds is a subnormal half, and where p is
    of_p = of_p + (4 * EPS + 2 * rounded) * p + subnormal
    parts = of_ds @ keys * factor, of_ds.mT @ q.double().abs() * factor, of_p.mT @ g.abs()
    return floors(*(x.nan_to_num(posinf=0) + TINY for x in parts))
