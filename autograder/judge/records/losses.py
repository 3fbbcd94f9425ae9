"""The batches that show the bugs of losses over a vocabulary: which rows count, what their logits hold, how they lie.

A case is a matrix of logits (M, V), labels (M,) and an ignore_index. What else the function takes its record adds.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from ...runner import Args, dtype_name, far_apart
from .bad_labels import IGNORE, OUT_OF_RANGE, BadLabel, bad_label
from .common import (
    AGAIN,
    HALVES,
    KEEP_NOTHING,
    STEP_BY_STEP,
    MakeArguments,
    View,
    as_they_are,
    every_second,
    transposed,
    with_gaps,
)
from .elementwise import BEYOND, BEYOND_HINT, normal
from .record import Case, Subject

LOSSES = "losses"
SCALE = 3.0  # standard deviation of ordinary logits
CONVERT = "Convert to float32 first, compute there, and round once at the end."


def labelled(generator: Generator, rows: int, classes: int) -> Tensor:
    """A label for each row, the first and the last class among them."""
    labels = torch.randint(0, classes, (rows,), generator=generator)
    labels[:1], labels[1:2] = classes - 1, 0
    return labels


Batch = Callable[[Generator], tuple[Tensor, Tensor]]  # -> (logits, labels)


def shaped(
    m: int,
    v: int,
    dtype: torch.dtype = torch.float32,
    view: View = lambda x: x,
    keep: View = lambda labels: labels,
) -> Batch:
    """Ordinary logits, seen through ``view``, and what ``keep`` makes of their labels."""

    def batch(generator: Generator) -> tuple[Tensor, Tensor]:
        logits = view(normal(generator, (m, v), dtype, SCALE))
        return logits, keep(labelled(generator, *logits.shape))

    return batch


def ordinary(generator: Generator) -> tuple[Tensor, Tensor]:
    """Seven rows of 128 classes; the label of row 2 is likely, so that it is seen at every seed whether it counts."""
    logits, labels = shaped(7, 128)(generator)
    logits[2, labels[2]] = logits[2].max() + 2.0
    return logits, labels


def classes(v: int) -> Batch:
    """Five rows; the logits are near -20, so that a padded 0 would be the largest."""
    return shaped(5, v, view=lambda x: x - 20.0)


def without(*rows: int, index: int = IGNORE) -> View:
    """Labels of which those of ``rows`` are ignored and no other."""
    return lambda labels: ignored(labels, *rows, index=index)


def large_logits(generator: Generator) -> tuple[Tensor, Tensor]:
    """Draws logits (6, 64) up to 10,000 on both sides, and labels, of which one is that of the largest logit."""
    logits, labels = normal(generator, (6, 64), scale=3000.0).clamp(-1e4, 1e4), labelled(generator, 6, 64)
    labels[2] = logits[2].argmax()
    return logits, labels


def low_logits(generator: Generator) -> tuple[Tensor, Tensor]:
    """Draws logits (6, 100) around -200, and labels."""
    return normal(generator, (6, 100)) - 200.0, labelled(generator, 6, 100)


def long_rows(generator: Generator) -> tuple[Tensor, Tensor]:
    """Rows longer than a block, no two of whose logits are neighbours. The last class of most weighs much."""
    logits = normal(generator, (3, 8193), scale=SCALE) - 200.0
    logits[:, -1] += 12.0
    logits[1, :4096] += 190.0  # the maximum of the blocks falls
    return every_second(logits), labelled(generator, 3, 8193)


def unlikely(generator: Generator) -> tuple[Tensor, Tensor]:
    """Draws logits (5, 80) whose labels have probabilities from e^-15 down to e^-87."""
    logits = normal(generator, (5, 80))
    labels = labelled(generator, 5, 80)
    logits[range(5), labels] = torch.tensor([-15.0, -25.0, -40.0, -60.0, -87.0])
    return logits, labels


def certain(dtype: torch.dtype) -> Batch:
    """p of the label from 0.9 to 1 - 1e-6."""

    def batch(generator: Generator) -> tuple[Tensor, Tensor]:
        logits = normal(generator, (6, 64), scale=0.5)
        labels = labelled(generator, 6, 64)
        logits[range(6), labels] = torch.tensor([7.0, 9.0, 11.0, 13.0, 16.0, 18.0])
        return logits.to(dtype), labels

    return batch


def all_certainties(generator: Generator) -> tuple[Tensor, Tensor]:
    """Two classes that matter and one that hardly does; the label's logit is 0, so that nothing is lost before the
    loss.
    """
    p = torch.tensor([1e-6, 1e-3, 0.5, 0.99, 0.999, 1 - 1e-5, 1 - 1e-6], dtype=torch.float64)
    other = (1 - p).log() - p.log()
    logits = torch.stack([torch.zeros_like(p), other, other - 3], dim=1).float()
    return logits, torch.zeros(7, dtype=torch.int64)


def masked(generator: Generator) -> tuple[Tensor, Tensor]:
    """Draws logits (8, 90) in which 40 % are -infinity, one label and all but one label of a row among them."""
    logits, labels = normal(generator, (8, 90), scale=SCALE), labelled(generator, 8, 90)
    hidden = torch.rand(logits.shape, generator=generator) < 0.4
    hidden[range(8), labels] = False
    logits[hidden] = -torch.inf
    logits[5, labels[5]] = -torch.inf  # the label cannot be: an infinite loss, and a finite gradient
    logits[6] = -torch.inf
    logits[6, labels[6]] = -12.0  # nothing else can be: p = 1
    return logits, labels


def masked_block(generator: Generator) -> tuple[Tensor, Tensor]:
    """Draws logits (2, 40,000) whose first 32,768 are -infinity, as many as a block may have. p of the labels is about
    1e-6 and 1e-7.
    """
    logits, labels = normal(generator, (2, 40_000), scale=SCALE), torch.tensor([39_999, 32_768])
    logits[:, :32_768] = -torch.inf
    logits[range(2), labels] = torch.tensor([0.0, -2.0])
    return logits, labels


def one_nan(generator: Generator) -> tuple[Tensor, Tensor]:
    """Draws logits (5, 45) with a NaN in one row, and labels."""
    logits, labels = normal(generator, (5, 45), scale=SCALE), labelled(generator, 5, 45)
    labels[2], logits[2, 11] = 10, torch.nan
    return logits, labels


def ignored_nan(generator: Generator) -> tuple[Tensor, Tensor]:
    """Draws logits (5, 45) with NaN and infinity in rows that are ignored."""
    logits, labels = normal(generator, (5, 45)), ignored(labelled(generator, 5, 45), 1, 3)
    logits[1], logits[3, 7] = torch.nan, torch.inf
    return logits, labels


class Row(NamedTuple):
    """One case. ignore_index: of the function, or None for its default."""

    name: str
    subject: Subject
    batch: Batch
    hint: str
    ignore_index: int | None = None

    def draw(self, generator: Generator) -> Args:
        """(logits, labels), and ``ignore_index`` where it is set."""
        logits, labels = self.batch(generator)
        return (logits, labels) if self.ignore_index is None else (logits, labels, self.ignore_index)


SURE = "p of the label is up to 1 - 1e-6."
ROWS = (
    Row("ordinary values", "plain", ordinary, "Begin here: 7 rows of 128 classes. " + STEP_BY_STEP),
    Row(AGAIN, "again", ordinary, KEEP_NOTHING),
    Row(
        "some rows ignored",
        "masking",
        shaped(9, 50, keep=without(0, 3, 4, 8)),
        "Rows 0, 3, 4 and 8 have the label ignore_index and give 0. And 50 classes leave 14 lanes of a block "
        "of 64 empty.",
    ),
    Row(
        "all rows ignored",
        "empty",
        shaped(4, 33, keep=without(0, 1, 2, 3)),
        "No row counts, and every result is 0. Is anything divided by their number, or the largest of none taken?",
    ),
    Row(
        "one row counts",
        "masking",
        shaped(5, 20, keep=without(0, 1, 3, 4)),
        "Only row 2 of 5 counts; 20 classes.",
    ),
    Row(
        "no rows",
        "empty",
        shaped(0, 33),
        "No rows go in, no rows come out. Do you ask for the largest of none, among the logits or the labels?",
    ),
    Row("one row", "single", shaped(1, 515), "One row, of 515 classes."),
    Row(
        "ignore_index = 0",
        "masking",
        shaped(8, 40, keep=without(2, 5, index=0)),
        "ignore_index is 0 here: rows with that label do not count, and -100 is not special.",
        ignore_index=0,
    ),
    Row(
        "ignore_index = -1",
        "masking",
        shaped(8, 40, keep=without(0, 5, index=-1)),
        "ignore_index is -1 here: rows 0 and 5 do not count. As an index -1 is the last class in Python, and in a "
        "kernel what lies before the row.",
        ignore_index=-1,
    ),
    Row(
        "ignore_index = V",
        "masking",
        shaped(8, 40, keep=without(3, 7, index=40)),
        "ignore_index is 40 here, and there are 40 classes: rows 3 and 7 do not count, and have no logit 40.",
        ignore_index=40,
    ),
    Row(
        "large logits",
        "range",
        large_logits,
        "Logits up to 1e4. e^x overflows from 88.7 on: what can be subtracted from a row first? It is 0 below -104: "
        "is the logarithm taken of a p that has become 0?",
    ),
    Row("logits far below zero", "range", low_logits, "Logits near -200, where e^x is 0. Where does a maximum start?"),
    Row(
        "an unlikely label",
        "range",
        unlikely,
        "p of the label is down to 1e-38, and log p = x - lse is an ordinary number. Do you take log(p), or p + eps?",
    ),
    Row(
        "a nearly certain label",
        "range",
        certain(torch.float32),
        f"{SURE} What is left of p - 1 in the precision in which you hold p?",
    ),
    *(
        Row(
            f"a nearly certain label, {name}",
            "half precision",
            certain(dtype),
            f"{SURE} Is p, or what it is made of, rounded to {name} before p - 1?",
        )
        for name, dtype in ((dtype_name(half), half) for half in HALVES)
    ),
    Row(
        "masked classes",
        "NaN and infinity",
        masked,
        "Some logits are -inf: their probability is 0. In row 5 that is the label: the loss is infinite. "
        "Nothing is NaN.",
    ),
    Row(
        "a first block of -inf",
        "sizes",
        masked_block,
        "40,000 classes, the first 32,768 at -inf: whole blocks. What do they leave for the next one (-inf - "
        "-inf is NaN)?",
    ),
    Row(
        "1 class",
        "single",
        shaped(5, 1, keep=without(1, 4)),
        "One class: p is 1, the loss is 0, and so is the gradient. Rows 1 and 4 are ignored.",
    ),
    Row(
        "2 classes", "sizes", shaped(5, 2, view=lambda x: x / 30), "Two classes, nearly alike: the loss is near log 2."
    ),
    Row(
        "3 classes", "sizes", classes(3), "Rows of 3 classes in a block of 4: what does the fourth lane add to the sum?"
    ),
    Row(
        "17 classes",
        "sizes",
        classes(17),
        "17 classes in a block of 32: what do the other 15 lanes add to the sum, and can they be its largest?",
    ),
    Row(
        "1000 classes",
        "sizes",
        classes(1000),
        "1000 classes leave 24 lanes of a block of 1024 empty. A logit of 0 there would add e^0 = 1 to the sum.",
    ),
    Row("1025 classes", "sizes", classes(1025), "One class more than 1024. Is it read, is it counted, is it written?"),
    Row("20011 classes", "sizes", classes(20_011), "20,011 classes, several blocks: how are their sums put together?"),
    Row(
        "3 rows of 8193, every second column",
        "layout",
        long_rows,
        "8193 logits a row, more than a block, at a stride of 2. They are near -200, in row 1 the first half near -10: "
        "where does a maximum start, can that of a later block be lower, and do the strides count in every block?",
    ),
    *(
        Row(dtype_name(dtype), "half precision", shaped(6, 384, dtype), CONVERT) for dtype in HALVES
    ),  # before the layouts of halves
    Row("many rows", "sizes", shaped(300, 6), "300 rows. Does every one get its result?"),
    Row(
        "transposed",
        "layout",
        shaped(37, 53, view=transposed),
        "A transposed matrix: a row is not contiguous in memory.",
    ),
    Row(
        "rows with gaps",
        "layout",
        shaped(9, 127, torch.bfloat16, view=with_gaps),
        "bfloat16 rows of 127 classes, 160 apart in memory: a padded vocabulary, seen through a slice.",
    ),
    Row(
        "every second column",
        "layout",
        shaped(9, 101, torch.float16, view=every_second),
        "float16 logits, and the stride of the last dimension is 2.",
    ),
    Row(BEYOND, "layout", shaped(3, 70, torch.bfloat16, view=far_apart), BEYOND_HINT),
    Row("NaN in one row", "NaN and infinity", one_nan, "NaN in gives NaN out, in its own row and in no other."),
)
NEAR_CERTAIN = Row(
    "distinction: p from 1e-6 to 1 - 1e-6",
    "range",
    all_certainties,
    "Near p = 1, log p and p - 1 lose their digits in 1 + tiny. Leave the label out of the sum; look up "
    "log1p and expm1.",
)
IGNORED_NAN = Row(
    "distinction: NaN in ignored rows", "NaN and infinity", ignored_nan, "A row that does not count may hold anything."
)


def losses(*, checked: bool, near_certain: bool, arguments: MakeArguments = as_they_are) -> tuple[Case, ...]:
    """The cases of a function of logits and labels.

    checked: the function refuses labels out of range. near_certain: a label of probability nearly 1 costs float32 its
    digits, so that there is a distinction to be had.
    arguments: (generator, logits, labels, *ignore_index) -> the exercise's arguments; ignore_index is there in cases
    that set it.
    """

    def case(row: Row) -> Case:
        def inputs(generator: Generator) -> Args:
            return arguments(generator, *row.draw(generator))

        return Case(row.name, inputs, row.hint, family=LOSSES, subject=row.subject)

    distinctions = (NEAR_CERTAIN, IGNORED_NAN) if near_certain else (IGNORED_NAN,)
    return (
        *(case(row) for row in ROWS),
        *(_refused(arguments, row) for row in OUT_OF_RANGE if checked),
        *(replace(case(row), bonus=True) for row in distinctions),
    )


def _refused(arguments: MakeArguments, bad: BadLabel) -> Case:
    """A bad label, another one after it, and an ignored row before: the message names the first."""

    def inputs(generator: Generator) -> Args:
        logits, labels, *more = Row(bad.name, "masking", shaped(bad.rows, 50), "", bad.ignore_index).draw(generator)
        bad.put(labels)
        return arguments(generator, logits, labels, *more)

    more = " Raise an IndexError that names the first bad row and its label."
    refused = Case(bad.name, inputs, bad.hint + more, family=LOSSES, subject="masking")
    return bad_label(refused, bad, classes=50)


def ignored(labels: Tensor, *rows: int, index: int = IGNORE) -> Tensor:
    """The labels with those of ``rows`` ignored and no other."""
    labels = labels.where(labels != index, index + 1)
    labels[list(rows)] = index
    return labels
