"""Attention. Cases: a softmax over nothing (pytorch#103963, flash-attention#1930), and two pieces merged in the wrong
base (flashinfer#2113, sglang#33064).
"""

import torch
from torch import Generator, Tensor

from ...kernels.wild import attention as wild
from ..run.contract import Args
from .cases.attention import attention_cases, many_queries
from .cases.common import EPS
from .cases.elementwise import gradient
from .cases.rows import floors
from .record import Case, Exercise, Floors, Output, Tolerance, WildBug


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
    lse = s.logsumexp(-1) if k.shape[2] else torch.full(q.shape[:3], -torch.inf, dtype=torch.float64)
    p = (s - lse.masked_fill(lse == -torch.inf, 0).unsqueeze(-1)).exp().masked_fill(~seen, 0)
    return p @ real(v, key_lengths), lse


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
    """The largest absolute error of one rounding to any of these dtypes where the result is subnormal."""
    formats = [torch.finfo(t.dtype) for t in tensors if t.dtype != torch.float64]
    return max(f.smallest_normal * f.eps / 2 for f in formats)


TINY = 1e-40  # what a device that flushes subnormals to 0 loses, and some of what others lose of their digits


def forward_floor(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None = None, causal: bool = False, scale: float | None = None
) -> Floors:
    """A score is a float32 sum of D products. What it loses p loses, and every sum over p; p may be rounded to the
    dtype of v before its product with v.
    """
    s, size, seen = scored(q, k, key_lengths, causal, scale)
    _, lse = attention(q, k, v, key_lengths, causal, scale)
    p = (s - lse.masked_fill(lse == -torch.inf, 0).unsqueeze(-1)).exp().masked_fill(~seen, 0).nan_to_num()
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
    """As forward; p and ds may be rounded to half before their products, and Σ p dp may be taken instead of do · o."""
    p, ds, g, size = _backward_parts(do, q, k, v, o, lse, key_lengths, causal, scale)
    factor = abs(q.shape[-1] ** -0.5 if scale is None else scale)
    keys, values = real(k, key_lengths).abs(), real(v, key_lengths).abs()
    rounded = half_ulp(q, k, v)
    of_p = p * EPS * (4 * size + 2 * lse.double().abs().nan_to_num(posinf=0).unsqueeze(-1) + 8)
    dp = (ds / p.masked_fill(p == 0, 1)).abs()
    of_delta = (8 * EPS + 2 * rounded) * (g * o.double()).abs()  # do · o
    of_dp = 8 * EPS * (g.abs() @ values.mT) + of_delta.sum(-1, keepdim=True)
    of_dp = of_dp + (of_p * (g @ real(v, key_lengths).mT).abs().nan_to_num(posinf=0)).sum(-1, keepdim=True)  # of Σ p dp
    subnormal = half_subnormal(q, k, v) * (p > 0)
    of_ds = of_p * dp + p * of_dp + (4 * EPS + 2 * rounded) * ds.abs() + subnormal
    of_p = of_p + (4 * EPS + 2 * rounded) * p + subnormal
    parts = of_ds @ keys * factor, of_ds.mT @ q.double().abs() * factor, of_p.mT @ g.abs()
    return floors(*(x.nan_to_num(posinf=0) + TINY for x in parts))


def forward_arguments(generator: Generator, *given: object) -> Args:
    return given


def backward_arguments(
    generator: Generator, q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None, causal: bool, scale: float | None
) -> Args:
    """do, and o and lse as forward saves them."""
    o, lse = attention(q, k, v, key_lengths, causal, scale)
    return gradient(generator, q.shape, q.dtype), q, k, v, o.to(q.dtype), lse.float(), key_lengths, causal, scale


def _stride_zero(generator: Generator) -> Args:
    q, k, v = (torch.randn(2, 3, 17, 16, generator=generator) for _ in range(3))
    _, *rest = backward_arguments(generator, q, k, v, None, True, None)
    return torch.tensor(-0.7).expand(2, 3, 17, 16), *rest


def block_bytes(q: Tensor, k: Tensor, v: Tensor) -> tuple[int, int, int]:
    """(bytes of q, o and lse; of k and v; blocks of 64 queries): a program that holds 64 queries reads every key."""
    rows = 2 * q.numel() * q.element_size() + 4 * q.shape[0] * q.shape[1] * q.shape[2]
    keys = k.shape[0] * q.shape[1] * k.shape[2] * k.shape[3]
    return rows, keys * (k.element_size() + v.element_size()), -(-q.shape[2] // 64)


def forward_bytes(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None = None, causal: bool = False, scale: float | None = None
) -> int:
    rows, keys, blocks = block_bytes(q, k, v)
    return rows + keys * blocks


def backward_bytes(
    do: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    key_lengths: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> int:
    """Two walks: over the keys for dq, over the queries for dk and dv; and do and o once for the sums."""
    rows, keys, blocks = block_bytes(q, k, v)
    return rows * (3 + -(-k.shape[2] // 64)) + keys * (2 + blocks)


def half_the_scores(q: Tensor, k: Tensor, copies: int) -> int:
    """As much as half of the scores of all heads in float32, and ``copies`` of what comes in. The scores of 64 keys, or
    128, fit some times over, those of all keys not once.
    """
    B, H, M, D = q.shape
    return 2 * B * H * M * k.shape[2] + 4 * copies * (q.numel() + 2 * B * H * k.shape[2] * D) + (1 << 14)


REASON = (
    "A score is a float32 sum of D products; what it loses every probability loses. Half-precision probabilities are "
    "rounded once before their product with v, as the tensor cores of a GPU ask."
)
ANSWERS = frozenset(
    "softmax _softmax _safe_softmax log_softmax _log_softmax logsumexp scaled_dot_product_attention "
    "_scaled_dot_product_attention_math _scaled_dot_product_flash_attention_for_cpu "
    "_scaled_dot_product_flash_attention_for_cpu_backward _softmax_backward_data flex_attention".split()
)

FORMULA = WildBug(
    who="the formula, softmax(q kᵀ + mask) v,",
    thread="pytorch/pytorch#103963",
    function=wild.attention_formula,
    seen_by="a sequence without keys",
    story="A query without a key has scores of -inf alone: -inf - -inf is NaN, and soon in all weights.",
)
RESCALED = WildBug(
    who="the online softmax that starts at -inf",
    thread="Dao-AILab/flash-attention#1930",
    function=wild.attention_rescaled,
    seen_by="a sequence without keys",
    story="Its first maximum is -inf; after a block without a key it still is, and e^(-inf - -inf) rescales by NaN.",
)
CLAMPED = WildBug(
    who="burn since 2026-03",
    thread="tracel-ai/burn#4697",
    function=wild.attention_clamped,
    seen_by="scores near -60000",
    story="The maximum is kept above -1e4, which avoids the NaN and gives 0 where real scores are lower.",
)
SENTINEL = WildBug(
    who="flashinfer before 2026-08",
    thread="flashinfer-ai/flashinfer#4401",
    function=wild.attention_sentinel,
    seen_by="a sequence without keys",
    story="-5e4 stood for minus infinity: a query without a key averages the padding, and real scores below it lose.",
)
UNSCALED = WildBug(
    who="attention without 1 / √D",
    thread="no thread of its own",
    function=wild.attention_unscaled,
    seen_by="ordinary values",
    story="The scores keep their full size, so that one key takes nearly all.",
)
AFTERWARDS = WildBug(
    who="a mask that is multiplied in after the softmax",
    thread="no thread of its own",
    function=wild.attention_afterwards,
    seen_by="causal",
    story="The sum still holds what is masked: the weights of a query add up to less than 1.",
)
PADDED = WildBug(
    who="a last block padded with zeros",
    thread="volcengine/verl#2899",
    function=wild.attention_padded,
    seen_by="ordinary values",
    story="The lanes past the last key score 0, and each of them adds e^0 = 1 to the sum.",
)
HALF_MAXIMUM = WildBug(
    who="scores in half precision",
    thread="no thread of its own",
    function=wild.attention_half_maximum,
    seen_by="float16 scores up to 3000",
    story="From 2048 on float16 counts in twos, and a difference of 2 in a score is a factor of 7.",
)

attention_forward = Exercise(
    name="attention_forward",
    summary="o = softmax(scale · q kᵀ) v over the keys a query sees, and lse = log Σ e^s; without a key 0 and -inf",
    oracle=attention,
    outputs=(Output("o", "q"), Output("lse", torch.float32)),
    cases=attention_cases(forward_arguments),
    tolerance=Tolerance(1, 8, REASON, forward_floor),
    hint="Walk over the keys block by block; keep the largest score, the sum and the weighted values so far.",
    refused=ANSWERS,
    wild=(FORMULA, RESCALED, CLAMPED, SENTINEL, UNSCALED, AFTERWARDS, PADDED, HALF_MAXIMUM),
    points=8,
    upcast=False,
    least_bytes=forward_bytes,
    traffic=2.0,
    most_bytes=lambda q, k, *rest: half_the_scores(q, k, 3),
    large=many_queries(forward_arguments, (0,), outputs=(True, True)),
)

AGAIN = WildBug(
    who="a backward that normalises again",
    thread="no thread of its own",
    function=wild.attention_backward_again,
    seen_by="causal",
    story="It takes the softmax of all scores once more instead of e^(s - lse), and so gives hidden keys a gradient.",
)
MINUS_INF = WildBug(
    who="e^(s - lse) with lse = -inf",
    thread="pytorch/pytorch#103963",
    function=wild.attention_backward_minus_inf,
    seen_by="a sequence without keys",
    story="For a query without a key both are -inf. Its NaN is in the sum of every dk and dv.",
)

attention_backward = Exercise(
    name="attention_backward",
    summary="dv = pᵀ do, ds = p · (do vᵀ - do · o), dq = scale · ds k, dk = scale · dsᵀ q, with p = e^(s - lse)",
    oracle=attention_gradients,
    outputs=(Output("dq", "q"), Output("dk", "k"), Output("dv", "v")),
    cases=(
        *attention_cases(backward_arguments),
        Case("do of stride 0", _stride_zero, "What .sum() hands back: one number for the whole shape."),
    ),
    tolerance=Tolerance(1, 8, REASON, backward_floor),
    hint="With lse there is no softmax left to take: p = e^(s - lse), tile by tile, and do · o is Σ p dp.",
    refused=ANSWERS | {"autograd"},
    wild=(AGAIN, MINUS_INF),
    points=10,
    upcast=False,
    least_bytes=backward_bytes,
    traffic=2.0,
    most_bytes=lambda do, q, k, *rest: half_the_scores(q, k, 5),
    large=many_queries(backward_arguments, (0, 1, 4, 5), outputs=(True, False, False)),
    forward=attention_forward,
)
