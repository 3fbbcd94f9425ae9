"""Attention. Cases: a softmax over nothing (pytorch#103963, flash-attention#1930), and two pieces merged in the wrong
base (flashinfer#2113, sglang#33064).
"""

import torch
from torch import Tensor

from ...kernels.wild import attention as wild
from ..judge import CommonMistake, Exercise, Output, Tolerance, WildBug, case, draw
from .cases.attention import attention_cases, batch, many_queries, side_by_side
from .oracles.attention import attention, attention_gradients, backward_floor, forward_floor

DO = draw.gradient(like="q").laid_out_as("q")
CAUSAL = batch(h=3, m=17, n=17).but(causal=True)


def block_bytes(q: Tensor, k: Tensor, v: Tensor) -> tuple[int, int, int]:
    """(bytes of q, o and lse; of k and v; blocks of 64 queries): a program that holds 64 queries reads every key."""
    rows = 2 * q.numel() * q.element_size() + 4 * q.shape[0] * q.shape[1] * q.shape[2]
    keys = k.shape[0] * q.shape[1] * k.shape[2] * k.shape[3]
    return rows, keys * (k.element_size() + v.element_size()), -(-q.shape[2] // 64)


def forward_bytes(q: Tensor, k: Tensor, v: Tensor, *how: object) -> int:
    """Returns the bytes that attention has to move: rows of q once, k and v once for each block of 64 rows."""
    rows, keys, blocks = block_bytes(q, k, v)
    return rows + keys * blocks


def backward_bytes(do: Tensor, q: Tensor, k: Tensor, v: Tensor, *saved: object) -> int:
    """Two walks: over the keys for dq, over the queries for dk and dv; and do and o once for the sums."""
    rows, keys, blocks = block_bytes(q, k, v)
    return rows * (3 + -(-k.shape[2] // 64)) + keys * (2 + blocks)


def half_the_scores(q: Tensor, k: Tensor, copies: int) -> int:
    """The bytes of half the scores of all heads in float32 and of ``copies`` of what comes in. The scores of 64 or 128
    keys fit several times, those of all keys not once.
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
UNSCALED = CommonMistake(
    who="attention without 1 / √D",
    function=wild.attention_unscaled,
    seen_by="ordinary values",
    story="The scores keep their full size, so that one key takes nearly all.",
)
AFTERWARDS = CommonMistake(
    who="a mask that is multiplied in after the softmax",
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
HALF_MAXIMUM = CommonMistake(
    who="scores in half precision",
    function=wild.attention_half_maximum,
    seen_by="float16 scores up to 3000",
    story="From 2048 on float16 counts in twos, and a difference of 2 in a score is a factor of 7.",
)

attention_forward = Exercise(
    name="attention_forward",
    summary="o = softmax(scale · q kᵀ) v over the keys a query sees, and lse = log Σ e^s; without a key 0 and -inf",
    oracle=attention,
    outputs=(Output("o", "q"), Output("lse", torch.float32)),
    cases=attention_cases(),
    tolerance=Tolerance(1, 8, REASON, forward_floor),
    hint="Walk over the keys block by block; keep the largest score, the sum and the weighted values so far.",
    refused=ANSWERS,
    wild=(FORMULA, RESCALED, CLAMPED, SENTINEL, UNSCALED, AFTERWARDS, PADDED, HALF_MAXIMUM),
    points=8,
    upcast=False,
    least_bytes=forward_bytes,
    traffic=2.0,
    most_bytes=lambda q, k, *rest: half_the_scores(q, k, 3),
    large=many_queries((0,), outputs=(True, True)),
    about=(
        *("a sequence without keys", "nobody sees a key", "causal, fewer keys than queries", "causal with key lengths"),
        *("scores near -60000", "causal, scores near -60000"),
    ),
)

AGAIN = CommonMistake(
    who="a backward that normalises again",
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
        *attention_cases(do=DO),
        case("do of stride 0", "What .sum() hands back: one number for the whole shape.", CAUSAL, do=DO.one_number()),
        case(
            "tiny do, heads side by side",
            "do is about 1e-8, and lies as (B, M, H, D) does, where q, k and v do not. Is it compared with a constant "
            "or rounded, and is it read where its strides say?",
            CAUSAL,
            do=DO.scale(1e-8).view(side_by_side),
        ),
        case(
            "NaN in do",
            "One element of do is NaN. NaN in gives NaN out, for its query and for every key of this head.",
            batch(),
            key_lengths=draw.tensor([13, 20]),  # the padding of the other sequence: 0 times NaN is open
            do=DO.put(torch.nan, 1, 0, 5, 3),
        ),
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
    large=many_queries((0, 1, 4, 5), outputs=(True, False, False), do=DO),
    forward=attention_forward,
    about=("a sequence without keys", "nobody sees a key", "causal, fewer keys than queries"),
)
