"""The batches that show the bugs of losses over a vocabulary: which rows count, what their logits hold, how they lie.

A case is a matrix of logits (M, V), labels (M,) and an ignore_index. What else the function takes its record adds.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Generator, Tensor

from ...judge import Arguments, Case, Values, case, draw
from .bad_labels import IGNORE, OUT_OF_RANGE, bad_label
from .halves import in_halves
from .signature import MakeArguments, as_they_are
from .wording import AGAIN, BEYOND, BEYOND_HINT, CONVERT, KEEP_NOTHING, STEP_BY_STEP

LOSSES = "losses"
SCALE = 3.0  # standard deviation of ordinary logits


def any_labels(rows: int, classes: int) -> Values:
    """A label for each row, the first and the last class among them, and none of 100: where -100 lost its sign, that
    shows where rows are ignored, and not by chance.
    """

    def ends(labels: Tensor) -> Tensor:
        labels[labels == -IGNORE] -= 1
        labels[:1], labels[1:2] = classes - 1, 0
        return labels

    return draw.integers(rows, low=0, high=classes - 1).map(ends)


def batch(m: int, v: int, logits: Values | None = None) -> Arguments:
    """Logits, ordinary ones if no others are given, and a label for each row."""
    drawn = Arguments.named(logits=logits or draw.normal(m, v).scale(SCALE), labels=any_labels(m, v))
    return drawn if logits or not m else drawn.change(unlikely)


def unlikely(logits: Tensor, labels: Tensor) -> None:
    """The labels of two rows have a p of about 1e-6: what is added to it shows at every seed."""
    for row in (2, len(labels) - 2) if len(labels) > 2 else range(len(labels)):
        logits[row, labels[row]] = logits[row].max() - 14.0


def without(given: Arguments, *rows: int, index: int | None = None) -> Arguments:
    """The same with the labels of ``rows`` ignored and no other. index: the ignore_index, if it is not the default."""

    def ignored(labels: Tensor) -> Tensor:
        left_out = IGNORE if index is None else index
        labels = labels.where(labels != left_out, left_out + 1)
        labels[list(rows)] = left_out
        return labels

    return given.but(labels=draw.same.map(ignored), **({} if index is None else {"ignore_index": index}))


def likely(logits: Tensor, labels: Tensor) -> None:
    """The label of row 2 is likely, so that it is seen at every seed whether it counts."""
    logits[2, labels[2]] = logits[2].max() + 2.0


def likely_first(logits: Tensor, labels: Tensor) -> None:
    """The label of row 1, which is the first class, is likely: whether it counts shows in a long row, too."""
    logits[1, 0] = logits[1].max() + 2.0


def largest(logits: Tensor, labels: Tensor) -> None:
    """The label of row 2 is that of its largest logit."""
    labels[2] = logits[2].argmax()


def at_labels(*of_rows: float) -> Callable[[Tensor, Tensor], None]:
    """The logit of each row's label."""

    def change(logits: Tensor, labels: Tensor) -> None:
        logits[range(len(labels)), labels] = torch.tensor(of_rows)

    return change


def certain() -> Arguments:
    """p of the label from 0.99 to 1 - 1e-6: what rounds p - 1 as coarsely as p is far off at every seed."""
    logits = draw.normal(10, 64).scale(0.5)
    return batch(10, 64, logits).change(at_labels(9.0, 9.5, 10.0, 10.5, 11.0, 12.0, 13.0, 14.5, 16.0, 18.0))


def far_below(logits: Tensor) -> None:
    """Logits near -200; the last class of most rows weighs much, and in row 1 the maximum of the blocks falls."""
    logits -= 200.0
    logits[:, -1] += 12.0
    logits[1, :4096] += 190.0


def certainties(generator: Generator) -> Tensor:
    """Two classes that matter and one that hardly does; the label's logit is 0, so that nothing is lost before the
    loss.
    """
    p = torch.tensor([1e-6, 1e-3, 0.5, 0.99, 0.999, 1 - 1e-5, 1 - 1e-6], dtype=torch.float64)
    other = (1 - p).log() - p.log()
    return torch.stack([torch.zeros_like(p), other, other - 3], dim=1).float()


def masked(generator: Generator, logits: Tensor, labels: Tensor) -> None:
    """40 % are -infinity, one label and all but one label of a row among them."""
    hidden = torch.rand(logits.shape, generator=generator) < 0.4
    hidden[range(8), labels] = False
    logits[hidden] = -torch.inf
    logits[5, labels[5]] = -torch.inf  # the label cannot be: an infinite loss, and a finite gradient
    logits[6] = -torch.inf
    logits[6, labels[6]] = -12.0  # nothing else can be: p = 1


# As many of -infinity as a block may have. p of the labels is about 1e-6 and 1e-7.
MASKED_BLOCK = Arguments.named(
    logits=draw.normal(2, 40_000).scale(SCALE).put(-torch.inf, slice(None), slice(32_768)),
    labels=draw.tensor([39_999, 32_768]),
).change(at_labels(0.0, -2.0))

SURE = "p of the label is up to 1 - 1e-6."
ROWS = (
    case(
        "ordinary values",
        "Begin here: 7 rows of 128 classes. " + STEP_BY_STEP,
        batch(7, 128).change(likely),
        subject="plain",
    ),
    case(AGAIN, KEEP_NOTHING, batch(7, 128).change(likely), subject="again"),
    case(
        "some rows ignored",
        "Rows 0, 3, 4 and 8 have the label ignore_index and give 0. And 50 classes leave 14 lanes of a block "
        "of 64 empty.",
        without(batch(9, 50), 0, 3, 4, 8),
        subject="masking",
    ),
    case(
        "all rows ignored",
        "No row counts, and every result is 0. Is anything divided by their number, or the largest of none taken?",
        without(batch(4, 33), 0, 1, 2, 3),
        subject="empty",
    ),
    case(
        "one row counts",
        "Only row 2 of 5 counts; 20 classes.",
        without(batch(5, 20), 0, 1, 3, 4),
        subject="masking",
    ),
    case(
        "no rows",
        "No rows go in, no rows come out. Do you ask for the largest of none, among the logits or the labels?",
        batch(0, 33),
        subject="empty",
    ),
    case("one row", "One row, of 515 classes.", batch(1, 515), subject="single"),
    case(
        "ignore_index = 0",
        "ignore_index is 0 here: rows with that label do not count, and -100 is not special.",
        without(batch(8, 40), 2, 5, index=0),
        subject="masking",
    ),
    case(
        "ignore_index = -1",
        "ignore_index is -1 here: rows 0 and 5 do not count. As an index -1 is the last class in Python, and in a "
        "kernel what lies before the row.",
        without(batch(8, 40), 0, 5, index=-1),
        subject="masking",
    ),
    case(
        "ignore_index = V",
        "ignore_index is 40 here, and there are 40 classes: rows 3 and 7 do not count, and have no logit 40.",
        without(batch(8, 40), 3, 7, index=40),
        subject="masking",
    ),
    case(
        "large logits",
        "Logits up to 1e4. e^x overflows from 88.7 on: what can be subtracted from a row first? It is 0 below -104: "
        "is the logarithm taken of a p that has become 0?",
        batch(6, 64, logits=draw.normal(6, 64).scale(3000.0).clamp(-1e4, 1e4)).change(largest),
        subject="range",
    ),
    case(
        "logits far below zero",
        "Logits near -200, where e^x is 0. Where does a maximum start?",
        batch(6, 100, logits=draw.normal(6, 100).plus(-200.0)),
        subject="range",
    ),
    case(
        "an unlikely label",
        "p of the label is down to 1e-38, and log p = x - lse is an ordinary number. Do you take log(p), or p + eps?",
        batch(5, 80, logits=draw.normal(5, 80)).change(at_labels(-15.0, -25.0, -40.0, -60.0, -87.0)),
        subject="range",
    ),
    case(
        "a nearly certain label",
        f"{SURE} What is left of p - 1 in the precision in which you hold p?",
        certain(),
        subject="range",
    ),
    *in_halves(
        "a nearly certain label, {}",
        SURE + " Is p, or what it is made of, rounded to {} before p - 1?",
        certain(),
        "logits",
        subject="half precision",
    ),
    case(
        "masked classes",
        "Some logits are -inf: their probability is 0. In row 5 that is the label: the loss is infinite. "
        "Nothing is NaN.",
        batch(8, 90).change(masked),
        subject="NaN and infinity",
    ),
    case(
        "a first block of -inf",
        "40,000 classes, the first 32,768 at -inf: whole blocks. What do they leave for the next one (-inf - "
        "-inf is NaN)?",
        MASKED_BLOCK,
        subject="sizes",
    ),
    case(
        "1 class",
        "One class: p is 1, the loss is 0, and so is the gradient. Rows 1 and 4 are ignored.",
        without(batch(5, 1), 1, 4),
        subject="single",
    ),
    case(
        "2 classes",
        "Two classes, nearly alike: the loss is near log 2.",
        batch(5, 2),
        logits=draw.same.map(lambda x: x / 30),
        subject="sizes",
    ),
    case(
        "3 classes",
        "Rows of 3 classes in a block of 4: what does the fourth lane add to the sum?",
        batch(5, 3),
        logits=draw.same.plus(-20.0),
        subject="sizes",
    ),
    case(
        "17 classes",
        "17 classes in a block of 32: what do the other 15 lanes add to the sum, and can they be its largest?",
        batch(5, 17),
        logits=draw.same.plus(-20.0),
        subject="sizes",
    ),
    case(
        "1000 classes",
        "1000 classes leave 24 lanes of a block of 1024 empty. A logit of 0 there would add e^0 = 1 to the sum.",
        batch(5, 1000),
        logits=draw.same.plus(-20.0),
        subject="sizes",
    ),
    case(
        "1025 classes",
        "One class more than 1024. Is it read, is it counted, is it written?",
        batch(5, 1025),
        logits=draw.same.plus(-20.0),
        subject="sizes",
    ),
    case(
        "20011 classes",
        "20,011 classes, several blocks: how are their sums put together?",
        batch(5, 20_011).change(likely_first),
        logits=draw.same.plus(-20.0),
        subject="sizes",
    ),
    case(
        "3 rows of 8193, every second column",
        "8193 logits a row, more than a block, at a stride of 2. They are near -200, in row 1 the first half near -10: "
        "where does a maximum start, can that of a later block be lower, and do the strides count in every block?",
        batch(3, 8193).change(far_below),
        logits=draw.same.every_second(),
        subject="layout",
    ),
    *in_halves("{}", CONVERT, batch(6, 384), "logits", subject="half precision"),  # before the layouts of halves
    case("many rows", "300 rows. Does every one get its result?", batch(300, 6), subject="sizes"),
    case(
        "transposed",
        "A transposed matrix: a row is not contiguous in memory.",
        batch(37, 53),
        logits=draw.same.transposed(),
        subject="layout",
    ),
    case(
        "rows with gaps",
        "bfloat16 rows of 127 classes, 160 apart in memory: a padded vocabulary, seen through a slice.",
        batch(9, 127),
        logits=draw.same.to(torch.bfloat16).with_gaps(),
        subject="layout",
    ),
    case(
        "every second column",
        "float16 logits, and the stride of the last dimension is 2.",
        batch(9, 101),
        logits=draw.same.to(torch.float16).every_second(),
        subject="layout",
    ),
    case(BEYOND, BEYOND_HINT, batch(3, 70), logits=draw.same.to(torch.bfloat16).far_apart(), subject="layout"),
    case(
        "NaN in one row",
        "NaN in gives NaN out, in its own row and in no other.",
        batch(5, 45),
        labels=draw.same.put(10, 2),
        logits=draw.same.put(torch.nan, 2, 11),
        subject="NaN and infinity",
    ),
)
NEAR_CERTAIN = case(
    "distinction: p from 1e-6 to 1 - 1e-6",
    "Near p = 1, log p and p - 1 lose their digits in 1 + tiny. Leave the label out of the sum; look up "
    "log1p and expm1.",
    logits=draw.by(certainties),
    labels=draw.full(7, value=0),
    bonus=True,
    subject="range",
)
IGNORED_NAN = case(
    "distinction: NaN in ignored rows",
    "A row that does not count may hold anything.",
    without(batch(5, 45, logits=draw.normal(5, 45)), 1, 3),
    logits=draw.same.put(torch.nan, 1).put(torch.inf, 3, 7),
    bonus=True,
    subject="NaN and infinity",
)


def losses(*, checked: bool, near_certain: bool, arguments: MakeArguments = as_they_are) -> tuple[Case, ...]:
    """The cases of a function of logits and labels.

    checked: the function refuses labels out of range. near_certain: a label of probability nearly 1 costs float32 its
    digits, so that there is a distinction to be had.
    arguments: (generator, logits, labels, *ignore_index) -> the exercise's arguments; ignore_index is there in cases
    that set it.
    """

    def complete(original: Case) -> Case:
        return replace(
            original, inputs=lambda generator: arguments(generator, *original.inputs(generator)), family=LOSSES
        )

    hint = "Raise an IndexError that names the first bad row and its label."
    distinctions = (NEAR_CERTAIN, IGNORED_NAN) if near_certain else (IGNORED_NAN,)
    return (
        *map(complete, ROWS),
        *map(complete, refused(lambda rows: batch(rows, 50), hint, subject="masking") if checked else ()),
        *map(complete, distinctions),
    )


def refused(given: Callable[[int], Arguments], hint: str, **more: Any) -> Iterator[Case]:
    """Bad labels of 50 classes, with another one after it and an ignored row before: the message names the first.
    given: the arguments with this many rows.
    """
    for bad in OUT_OF_RANGE:
        index = {} if bad.ignore_index is None else {"ignore_index": bad.ignore_index}
        labelled = given(bad.rows).but(labels=draw.same.change(bad.put), **index)
        yield bad_label(case(bad.name, f"{bad.hint} {hint}", labelled, **more), bad, classes=50)
