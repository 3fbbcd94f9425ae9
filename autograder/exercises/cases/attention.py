"""The batches that show the bugs of attention: who sees which key, how large the scores are, how the tensors lie.

A case is q (B, H, M, D), k and v (B, H, N, D), key_lengths, causal and scale. What else the function takes (the
upstream gradient, o and lse as forward saved them) its record adds.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from ...judge import (
    AGAIN,
    BEYOND,
    KEEP_NOTHING,
    STEP_BY_STEP,
    Case,
    Large,
    MakeArguments,
    Subject,
    View,
    as_it_is,
    every_second,
    normal,
)
from ...runner import Args, far_apart

Change = Callable[[Generator, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]  # of (generator, q, k, v)


@dataclass(frozen=True)
class Batch:
    """What a case draws. lengths: of the keys of each sequence, or None. change: applied to (generator, q, k, v).

    view: how each of q, k and v is laid out, and an upstream gradient.
    """

    b: int = 2
    h: int = 2
    m: int = 12
    n: int = 20
    d: int = 16
    dtype: torch.dtype = torch.float32
    lengths: tuple[int, ...] | None = None
    causal: bool = False
    scale: float | None = None
    change: Change = lambda generator, q, k, v: (q, k, v)
    view: View = as_it_is

    def draw(self, generator: Generator) -> Args:
        """Draws (q, k, v) with shapes (b, h, m or n, d), and what `arguments` takes beside them."""
        sizes = ((self.b, self.h, rows, self.d) for rows in (self.m, self.n, self.n))
        q, k, v = (self.view(normal(generator, size, self.dtype, 1.5)) for size in sizes)
        lengths = None if self.lengths is None else torch.tensor(self.lengths, dtype=torch.int64)
        return *self.change(generator, q, k, v), *self._given(lengths)

    def _given(self, lengths: Tensor | None) -> Args:
        """key_lengths, causal and scale as far as the last of them that is not left out."""
        if self.scale is not None:
            return lengths, self.causal, self.scale
        return (lengths, self.causal) if self.causal else () if lengths is None else (lengths,)


def attention_cases(arguments: MakeArguments) -> tuple[Case, ...]:
    """The cases of a function of q, k, v, key_lengths, causal and scale.

    arguments: (generator, q, k, v, *as many of the others as a case sets) -> the exercise's arguments. Its ``view`` is
    that of an upstream gradient.
    """

    def case(name: str, subject: Subject, batch: Batch, hint: str) -> Case:
        def inputs(generator: Generator) -> Args:
            return arguments(generator, *batch.draw(generator), view=batch.view)

        return Case(name, inputs, hint, family="attention", subject=subject)

    return tuple(case(*row) for row in ROWS)


def many_queries(arguments: MakeArguments, queries: tuple[int, ...], outputs: tuple[bool, ...]) -> Large:
    """4096 queries and 2048 keys of 8 heads: 256 MiB of scores.

    queries: which arguments have a row for each query. outputs: for each output whether it has; the others are sums
    over the queries.
    """

    def inputs(generator: Generator) -> Args:
        return arguments(generator, *Batch(b=1, h=8, m=16, n=2048, d=8).draw(generator))

    return Large(inputs, 256, queries, 2, tuple(1.0 if rows else None for rows in outputs))


def side_by_side(x: Tensor) -> Tensor:
    """The tensor as a model holds it, (B, M, H, ...), with heads and rows swapped by a view."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def other_values(generator: Generator, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The values lie otherwise than the keys: every second feature, and heads side by side."""
    return q, k, every_second(v.transpose(1, 2)).transpose(1, 2)


def shared_by_heads(generator: Generator, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One head of keys and values, expanded over the heads of q."""
    return q, k[:, :1].expand_as(k), v[:, :1].expand_as(v)


def garbage(lengths: tuple[int, ...]) -> Change:
    """Padding that holds what was in memory: NaN in the keys, infinity in the values."""

    def change(generator: Generator, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        for batch, length in enumerate(lengths):
            k[batch, :, length:], v[batch, :, length:] = torch.nan, torch.inf
        return q, k, v

    return change


def around(score: float, spread: float) -> Change:
    """Scores near ``score``, with scale 1: the first feature carries the constant, the others a normal ``spread``. That
    of the last key is larger by a spread, so that the largest score of some queries comes last.
    """

    def change(generator: Generator, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k = q * (spread / 9) ** 0.5, k * (spread / 9) ** 0.5
        constant = abs(score) ** 0.5
        q[..., 0], k[..., 0] = constant, constant * (1 if score > 0 else -1)
        k[..., -1, 0] += spread / constant
        return q, k, v

    return change


def up_to(score: float) -> Change:
    """Scores of both signs, the largest about ``score``, with scale 1."""

    def change(generator: Generator, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        largest = (q.float() @ k.float().mT).abs().amax()
        factor = (score / largest) ** 0.5
        return (q.float() * factor).to(q.dtype), (k.float() * factor).to(k.dtype), v

    return change


def one_key_for_all(generator: Generator, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Every key is the same, so that every score of a query is."""
    return q, k[:, :, :1].expand_as(k).clone(), v


def one_huge(generator: Generator, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Makes two keys score 200 times their query: each takes that query's whole weight."""
    k[:, :, 3], k[:, :, 66] = q[:, :, 0] * 200, q[:, :, 1] * 200
    return q, k, v


def one_nan(place: int) -> Change:
    """NaN in one element of q, k or v."""

    def change(generator: Generator, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        (q, k, v)[place][1, 0, 5, 3] = torch.nan
        return q, k, v

    return change


CONVERT = "Multiply in the dtype that came in, add up in float32, round once at the end."
LENGTH = "Keys at or past key_lengths[b] do not exist: no score, no share of the sum, nothing of their values."
NOBODY = "A query that sees no key: o is 0 and lse is -inf. What is -inf minus -inf, and what is 0 / 0?"
ALIGNED = "Query i sees key j if j <= i + key_lengths[b] - M: the last query is aligned with the last key."
BLOCKS = "65 keys, one more than a block of 64: how are blocks put together, and is what lies past the last key masked?"
MORE = " These are several blocks of keys: how are they put together?"
STRIDES = (
    "Each of q, k and v, and of do, has four strides of its own; nothing says that they lie as (B, H, M, D) would."
)

ROWS: tuple[tuple[str, Subject, Batch, str], ...] = (
    (
        "ordinary values",
        "plain",
        Batch(),
        "Begin here: 12 queries, 20 keys, and every query sees every key. " + STEP_BY_STEP,
    ),
    (AGAIN, "again", Batch(), KEEP_NOTHING),
    ("key lengths", "masking", Batch(b=4, h=1, n=70, lengths=(70, 33, 20, 1)), LENGTH + MORE),
    ("lengths around a block", "masking", Batch(b=5, h=1, m=5, n=130, lengths=(63, 64, 65, 127, 129)), LENGTH + MORE),
    ("a sequence without keys", "empty", Batch(b=3, lengths=(20, 0, 7)), NOBODY),
    ("nobody sees a key", "empty", Batch(lengths=(0, 0)), NOBODY),
    (
        "padding of NaN and infinity",
        "NaN and infinity",
        Batch(b=3, lengths=(20, 3, 0), change=garbage((20, 3, 0))),
        LENGTH + " 0 · NaN is NaN.",
    ),
    ("causal", "masking", Batch(m=40, n=40, causal=True), ALIGNED + " 40 of each may be several blocks."),
    ("causal, more keys than queries", "masking", Batch(m=9, n=75, causal=True), ALIGNED + MORE),
    (
        "causal, fewer keys than queries",
        "masking",
        Batch(m=30, n=11, causal=True),
        ALIGNED + " The first 19 see none: o is 0, lse is -inf, and -inf - -inf would be NaN.",
    ),
    (
        "causal with key lengths",
        "masking",
        Batch(b=4, h=1, m=20, n=50, causal=True, lengths=(50, 33, 12, 0)),
        ALIGNED + " Some queries see none.",
    ),
    (
        "causal, 130 queries",
        "sizes",
        Batch(b=1, m=130, n=130, causal=True),
        ALIGNED + " Which blocks does a program need?",
    ),
    (
        "one query",
        "single",
        Batch(m=1, n=77, causal=True, lengths=(77, 40)),
        "Decoding: one query, at the end of its keys.",
    ),
    ("one key", "single", Batch(n=1), "One key gets all the weight, whatever its score is."),
    ("one key more than a block", "sizes", Batch(n=65), BLOCKS),
    ("one feature", "single", Batch(d=1), "D = 1: tl.dot takes blocks of at least 16. What do the others hold?"),
    (
        "24 features",
        "sizes",
        Batch(d=24),
        "24 features: is the default scale 1 / √24, and what do the last columns of a block of 32 hold?",
    ),
    (
        "128 features",
        "sizes",
        Batch(b=1, n=40, d=128),
        "128 features: D is the number of features, in the scale as in the masks.",
    ),
    ("256 features", "sizes", Batch(b=1, h=1, n=40, d=256), "The widest head there is."),
    (
        "scores up to 1e4",
        "range",
        Batch(scale=1.0, change=up_to(1e4)),
        "e^s overflows from 88.7 on: subtract the largest score of the row first.",
    ),
    (
        "scores near -60000",
        "range",
        Batch(scale=1.0, n=70, lengths=(70, 33), change=around(-6e4, 3.0)),
        "Scores near -60000, and some keys hidden. Is what stands for -inf below them, and is the maximum that is "
        "subtracted one of them?",
    ),
    (
        "scores near 5000",
        "range",
        Batch(scale=1.0, n=70, change=around(5e3, 3.0)),
        "A constant on every score changes nothing but lse.",
    ),
    ("scores all equal", "range", Batch(n=37, change=one_key_for_all), "Equal scores give the mean of the values."),
    (
        "one huge score",
        "range",
        Batch(n=70, change=one_huge),
        "One key takes nearly all the weight, in the first block or in a later one. Is it among the scores whose "
        "largest is subtracted, and can the largest of a block be below that of the one before?",
    ),
    ("scale = 0", "range", Batch(scale=0.0), "scale = 0 makes all scores 0. It is a number, not an absent one."),
    (
        "scale = -0.3",
        "range",
        Batch(scale=-0.3, n=70),
        "A negative scale turns the order of the scores around. 70 keys are more than one block of 64.",
    ),
    ("heads side by side", "layout", Batch(m=9, n=70, view=side_by_side), STRIDES),
    (
        "every second feature",
        "layout",
        Batch(dtype=torch.float16, view=every_second, change=other_values),
        "float16. " + STRIDES,
    ),
    ("keys shared by heads", "layout", Batch(h=3, change=shared_by_heads), STRIDES + " k.stride(1) is 0 here."),
    ("float16", "half precision", Batch(m=20, n=70, d=32, dtype=torch.float16), CONVERT),
    ("bfloat16", "half precision", Batch(m=20, n=70, d=32, dtype=torch.bfloat16, causal=True), CONVERT),
    (
        "float16 scores up to 3000",
        "half precision",
        Batch(d=64, dtype=torch.float16, scale=1.0, change=up_to(3e3)),
        "Between 2048 and 4096 float16 counts in twos. In which dtype are the scores?",
    ),
    (
        "float16 scores past 65504",
        "half precision",
        Batch(d=64, dtype=torch.float16, scale=1.0, change=up_to(9e4)),
        "65,504 is the largest float16. In which dtype are the scores?",
    ),
    (
        "bfloat16 with float32 values",
        "half precision",
        Batch(dtype=torch.bfloat16, change=lambda generator, q, k, v: (q, k, v.float())),
        "Each result has the dtype of its own tensor.",
    ),
    ("no sequences", "empty", Batch(b=0), "An empty batch: empty results, and nothing to launch."),
    ("no queries", "empty", Batch(m=0), "No queries: o is empty, and no gradient reaches a key."),
    ("no keys", "empty", Batch(n=0), NOBODY),
    (
        "NaN in a query",
        "NaN and infinity",
        Batch(lengths=(20, 13), change=one_nan(0)),
        "NaN in gives NaN out, for this query and no other, and what is padding has a gradient of 0. (In Triton, "
        "tl.max drops NaN.)",
    ),
    (
        "NaN in a key",
        "NaN and infinity",
        Batch(change=one_nan(1)),
        "NaN in a key that is seen gives NaN in every query of its head.",
    ),
    (
        "NaN in a value",
        "NaN and infinity",
        Batch(change=one_nan(2)),
        "NaN in a value gives NaN in its feature and in no other.",
    ),
    (
        "300 queries, 700 keys",
        "sizes",
        Batch(b=1, h=1, m=300, n=700),
        "All scores at once would be 300 · 700 numbers. Hold those of 64 keys, use them, and make the next.",
    ),
    (
        BEYOND,
        "layout",
        Batch(b=3, h=1, m=5, n=7, dtype=torch.float16, view=far_apart),
        "The sequences lie 2^30 elements apart in memory. For the third, b * stride is 2^31, more than an int32 holds: "
        "in a kernel make the index an int64 before you multiply.",
    ),
)
