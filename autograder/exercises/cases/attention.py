"""The batches that show the bugs of attention: who sees which key, how large the scores are, how the tensors lie.

A case is q (B, H, M, D), k and v (B, H, N, D), key_lengths, causal and scale. What else the function takes (the
upstream gradient, o and lse as forward saved them) its record adds.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ...judge import Arguments, Case, Large, Values, also, case, draw
from .wording import AGAIN, BEYOND, KEEP_NOTHING, STEP_BY_STEP

FAMILY = "attention"
QKV = ("q", "k", "v")


def batch(b: int = 2, h: int = 2, m: int = 12, n: int = 20, d: int = 16) -> Arguments:
    """q (b, h, m, d), k and v (b, h, n, d)."""
    keys = draw.normal(b, h, n, d).scale(1.5)
    return Arguments.named(q=draw.normal(b, h, m, d).scale(1.5), k=keys, v=keys)


def attention_cases(**upstream: Values) -> tuple[Case, ...]:
    """The cases of a function of q, k, v, key_lengths, causal and scale. upstream: what a gradient takes, too."""
    return tuple(replace(original, family=FAMILY) for original in also(CASES, **upstream))


def many_queries(queries: tuple[int, ...], outputs: tuple[bool, ...], **upstream: Values) -> Large:
    """4096 queries and 2048 keys of 8 heads: 256 MiB of scores.

    queries: which arguments have a row for each query. outputs: for each output whether it has; the others are sums
    over the queries.
    """
    inputs = batch(b=1, h=8, m=16, n=2048, d=8).but(**upstream)
    return Large(inputs, 256, queries, 2, tuple(1.0 if rows else None for rows in outputs))


def side_by_side(x: Tensor) -> Tensor:
    """The tensor as a model holds it, (B, M, H, ...), with heads and rows swapped by a view."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def otherwise(v: Tensor) -> Tensor:
    """Values that lie otherwise than the keys: every second feature, and heads side by side."""
    return draw.same.every_second().of(v.transpose(1, 2)).transpose(1, 2)


ONE_HEAD = draw.same.view(lambda k: k[:, :1].expand_as(k))  # of keys or values, expanded over the heads of q


def garbage(*lengths: int) -> Callable[[Tensor, Tensor], None]:
    """Padding that holds what was in memory: NaN in the keys, infinity in the values."""

    def change(k: Tensor, v: Tensor) -> None:
        for sequence, length in enumerate(lengths):
            k[sequence, :, length:], v[sequence, :, length:] = torch.nan, torch.inf

    return change


def around(score: float, spread: float) -> Callable[[Tensor, Tensor], None]:
    """Scores near ``score``, with scale 1: the first feature carries the constant, the others a normal ``spread``. That
    of the last key is larger by a spread, so that the largest score of some queries comes last.
    """

    def change(q: Tensor, k: Tensor) -> None:
        q *= (spread / 9) ** 0.5
        k *= (spread / 9) ** 0.5
        constant = abs(score) ** 0.5
        q[..., 0], k[..., 0] = constant, constant * (1 if score > 0 else -1)
        k[..., -1, 0] += spread / constant

    return change


def up_to(score: float) -> Callable[[Tensor, Tensor], None]:
    """Scores of both signs, the largest of which, with scale 1, is about ``score``, and none is as far below 0."""

    def change(q: Tensor, k: Tensor) -> None:
        scores = q.float() @ k.float().mT
        farthest = scores.flatten()[scores.abs().argmax()]
        factor = (score / farthest.abs()) ** 0.5
        q.copy_(q.float() * factor * farthest.sign())
        k.copy_(k.float() * factor)

    return change


def one_huge(q: Tensor, k: Tensor) -> None:
    """Makes two keys score 200 times their query: each takes that query's whole weight."""
    k[:, :, 3], k[:, :, 66] = q[:, :, 0] * 200, q[:, :, 1] * 200


CONVERT = "Multiply in the dtype that came in, add up in float32, round once at the end."
LENGTH = "Keys at or past key_lengths[b] do not exist: no score, no share of the sum, nothing of their values."
NOBODY = "A query that sees no key: o is 0 and lse is -inf. What is -inf minus -inf, and what is 0 / 0?"
ALIGNED = "Query i sees key j if j <= i + key_lengths[b] - M: the last query is aligned with the last key."
BLOCKS = "65 keys, one more than a block of 64: how are blocks put together, and is what lies past the last key masked?"
MORE = " These are several blocks of keys: how are they put together?"
STRIDES = (
    "Each of q, k and v, and of do, has four strides of its own; nothing says that they lie as (B, H, M, D) would."
)

CASES = (
    case(
        "ordinary values",
        "Begin here: 12 queries, 20 keys, and every query sees every key. " + STEP_BY_STEP,
        batch(),
        subject="plain",
    ),
    case(AGAIN, KEEP_NOTHING, batch(), subject="again"),
    case(
        "key lengths", LENGTH + MORE, batch(b=4, h=1, n=70), key_lengths=draw.tensor([70, 33, 20, 1]), subject="masking"
    ),
    case(
        "lengths around a block",
        LENGTH + MORE,
        batch(b=5, h=1, m=5, n=130),
        key_lengths=draw.tensor([63, 64, 65, 127, 129]),
        subject="masking",
    ),
    case("a sequence without keys", NOBODY, batch(b=3), key_lengths=draw.tensor([20, 0, 7]), subject="empty"),
    case("nobody sees a key", NOBODY, batch(), key_lengths=draw.tensor([0, 0]), subject="empty"),
    case(
        "padding of NaN and infinity",
        LENGTH + " 0 · NaN is NaN.",
        batch(b=3).change(garbage(20, 3, 0)),
        key_lengths=draw.tensor([20, 3, 0]),
        subject="NaN and infinity",
    ),
    case("causal", ALIGNED + " 40 of each may be several blocks.", batch(m=40, n=40), causal=True, subject="masking"),
    case("causal, more keys than queries", ALIGNED + MORE, batch(m=9, n=75), causal=True, subject="masking"),
    case(
        "causal, fewer keys than queries",
        ALIGNED + " The first 19 see none: o is 0, lse is -inf, and -inf - -inf would be NaN.",
        batch(m=30, n=11),
        causal=True,
        subject="masking",
    ),
    case(
        "causal with key lengths",
        ALIGNED + " Some queries see none.",
        batch(b=4, h=1, m=20, n=50),
        key_lengths=draw.tensor([50, 33, 12, 0]),
        causal=True,
        subject="masking",
    ),
    case(
        "causal, 130 queries",
        ALIGNED + " Which blocks does a program need?",
        batch(b=1, m=130, n=130),
        causal=True,
        subject="sizes",
    ),
    case(
        "one query",
        "Decoding: one query, at the end of its keys.",
        batch(m=1, n=77),
        key_lengths=draw.tensor([77, 40]),
        causal=True,
        subject="single",
    ),
    case("one key", "One key gets all the weight, whatever its score is.", batch(n=1), subject="single"),
    case("one key more than a block", BLOCKS, batch(n=65), subject="sizes"),
    case(
        "one feature",
        "D = 1: tl.dot takes blocks of at least 16. What do the others hold?",
        batch(d=1),
        subject="single",
    ),
    case(
        "24 features",
        "24 features: is the default scale 1 / √24, and what do the last columns of a block of 32 hold?",
        batch(d=24),
        subject="sizes",
    ),
    case(
        "128 features",
        "128 features: D is the number of features, in the scale as in the masks.",
        batch(b=1, n=40, d=128),
        subject="sizes",
    ),
    case("256 features", "The widest head there is.", batch(b=1, h=1, n=40, d=256), subject="sizes"),
    case(
        "scores up to 1e4",
        "e^s overflows from 88.7 on: subtract the largest score of the row first.",
        batch().change(up_to(1e4)),
        scale=1.0,
        subject="range",
    ),
    case(
        "scores near -60000",
        "Scores near -60000, and some keys hidden. Is what stands for -inf below them, and is the maximum that is "
        "subtracted one of them?",
        batch(n=70).change(around(-6e4, 3.0)),
        key_lengths=draw.tensor([70, 33]),
        scale=1.0,
        subject="range",
    ),
    case(
        "causal, scores near -60000",
        ALIGNED + " Scores near -60000: is what stands for -inf where a key lies in the future below them?",
        batch(n=70).change(around(-6e4, 3.0)),
        causal=True,
        scale=1.0,
        subject="range",
    ),
    case(
        "scores near 5000",
        "A constant on every score changes nothing but lse.",
        batch(n=70).change(around(5e3, 3.0)),
        scale=1.0,
        subject="range",
    ),
    case(
        "scores all equal",
        "Equal scores give the mean of the values.",
        batch(n=37),
        k=draw.same.map(lambda k: k[:, :, :1].expand_as(k).clone()),
        subject="range",
    ),
    case(
        "one huge score",
        "One key takes nearly all the weight, in the first block or in a later one. Is it among the scores whose "
        "largest is subtracted, and can the largest of a block be below that of the one before?",
        batch(n=70).change(one_huge),
        subject="range",
    ),
    case(
        "scale = 0",
        "scale = 0 makes all scores 0. It is a number, not an absent one.",
        batch(),
        scale=0.0,
        subject="range",
    ),
    case(
        "scale = -0.3",
        "A negative scale turns the order of the scores around. 70 keys are more than one block of 64.",
        batch(n=70),
        scale=-0.3,
        subject="range",
    ),
    case("heads side by side", STRIDES, batch(m=9, n=70).each(draw.same.view(side_by_side), *QKV), subject="layout"),
    case(
        "every second feature",
        "float16, more keys than a block of 128. " + STRIDES,
        batch(n=150).each(draw.same.to(torch.float16), *QKV).each(draw.same.every_second(), "q", "k"),
        v=draw.same.view(otherwise),
        subject="layout",
    ),
    case(
        "keys shared by heads",
        STRIDES + " k.stride(1) is 0 here.",
        batch(h=3),
        k=ONE_HEAD,
        v=ONE_HEAD,
        subject="layout",
    ),
    case("float16", CONVERT, batch(m=20, n=70, d=32).each(draw.same.to(torch.float16), *QKV), subject="half precision"),
    case(
        "bfloat16",
        CONVERT,
        batch(m=20, n=70, d=32).each(draw.same.to(torch.bfloat16), *QKV),
        causal=True,
        subject="half precision",
    ),
    case(
        "float16 scores up to 3000",
        "Between 2048 and 4096 float16 counts in twos. In which dtype are the scores?",
        batch(d=64).each(draw.same.to(torch.float16), *QKV).change(up_to(3e3)),
        scale=1.0,
        subject="half precision",
    ),
    case(
        "float16 scores past 65504",
        "65,504 is the largest float16. In which dtype are the scores?",
        batch(d=64).each(draw.same.to(torch.float16), *QKV).change(up_to(9e4)),
        scale=1.0,
        subject="half precision",
    ),
    case(
        "bfloat16 with float32 values",
        "Each result has the dtype of its own tensor.",
        batch().each(draw.same.to(torch.bfloat16), *QKV),
        v=draw.same.to(torch.float32),
        subject="half precision",
    ),
    case("no sequences", "An empty batch: empty results, and nothing to launch.", batch(b=0), subject="empty"),
    case("no queries", "No queries: o is empty, and no gradient reaches a key.", batch(m=0), subject="empty"),
    case("no keys", NOBODY, batch(n=0), subject="empty"),
    case(
        "NaN in a query",
        "NaN in gives NaN out, for this query and no other. (In Triton, tl.max drops NaN.)",
        batch(),
        q=draw.same.put(torch.nan, 0, 0, 5, 3),
        key_lengths=draw.tensor([20, 13]),  # the padding of the other sequence: 0 times NaN is open
        subject="NaN and infinity",
    ),
    case(
        "NaN in a key",
        "NaN in a key that is seen gives NaN in every query of its head.",
        batch(),
        k=draw.same.put(torch.nan, 1, 0, 5, 3),
        subject="NaN and infinity",
    ),
    case(
        "NaN in a value",
        "NaN in a value gives NaN in its feature and in no other.",
        batch(),
        v=draw.same.put(torch.nan, 1, 0, 5, 3),
        subject="NaN and infinity",
    ),
    case(
        "300 queries, 700 keys",
        "All scores at once would be 300 · 700 numbers. Hold those of 64 keys, use them, and make the next.",
        batch(b=1, h=1, m=300, n=700),
        subject="sizes",
    ),
    case(
        BEYOND,
        "The sequences lie 2^30 elements apart in memory. For the third, b * stride is 2^31, more than an int32 holds: "
        "in a kernel make the index an int64 before you multiply.",
        batch(b=3, h=1, m=5, n=7).each(draw.same.to(torch.float16), *QKV).each(draw.same.far_apart(), *QKV),
        subject="layout",
    ),
)
