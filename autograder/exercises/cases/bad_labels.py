"""Labels that are not classes: the function has to refuse them and to say which row holds the first."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from ...judge import Case
from ...runner import Args, Tree

IGNORE = -100


class BadLabel(NamedTuple):
    """A case: ``label`` in row ``row`` of ``rows``, and behind it another bad one in the last row but one, which a
    negative ``label`` is without: who looks for labels of V and more alone is to miss it.

    ignore_index: of the function, or None for its default.
    """

    name: str
    row: int
    label: int
    hint: str
    ignore_index: int | None = None
    rows: int = 6

    @property
    def ignored(self) -> int:
        """The label of a row that does not count."""
        return IGNORE if self.ignore_index is None else self.ignore_index

    def put(self, labels: Tensor) -> None:
        """Into the labels of its rows, the first of which is ignored where it is not the bad one."""
        labels[0] = self.ignored
        labels[self.row] = self.label
        if self.label >= 0 and self.row < self.rows - 2:
            labels[-2] = 61


OUT_OF_RANGE = (
    BadLabel(
        "a label of V",
        2,
        50,
        "There is no class 50 among 50. Unchecked, logits_ptr + label is the next row's first logit.",
    ),
    BadLabel(
        "a label far out of range", 0, 32_000, "A token of a larger vocabulary. Unchecked, the address is anybody's."
    ),
    BadLabel(
        "a negative label", 2, -1, "-1 is neither a class nor ignore_index. In Python it would count from the end."
    ),
    BadLabel(
        "a bad label among 3000 rows",
        1500,
        50,
        "The first 1500 labels are right, and so are most that follow: are all of them looked at, and is the first bad "
        "one kept?",
        rows=3000,
    ),
    BadLabel(
        "a bad label in the last of 4097 rows",
        4096,
        50,
        "All labels but the last are right: where a program has a block of them, has the last one a program?",
        rows=4097,
    ),
    BadLabel("a label of -100", 2, -100, "ignore_index is -1 here: -100 is not a class and is not ignored.", -1),
)


def bad_label(case: Case, bad: BadLabel, classes: int) -> Case:
    """The case, which has to raise an IndexError that names this row and label."""
    pattern, repaired = names(bad.row, bad.label), without_bad_labels(classes, bad.ignored)
    return replace(case, raises=IndexError, says=pattern, repaired=repaired, convention="bad label")


def without_bad_labels(classes: int, ignore_index: int) -> Callable[[Args], Args]:
    """Makes a function that returns the arguments of a call with each label that is not a class ignored."""

    def repaired(args: Args) -> Args:
        def of(a: Tensor) -> Tensor:
            return a.where((a >= 0) & (a < classes), ignore_index) if a.dtype == torch.int64 else a

        return Tree(args).map(of)

    return repaired


def names(row: int, label: int) -> str:
    """The pattern of a message that names both."""
    return rf"(?s)(?=.*(?<!\d){row}\b)(?=.*(?<![\d-]){label}\b)"
