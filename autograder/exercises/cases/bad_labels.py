"""Labels that are no class: the function has to refuse them and to say which row holds the first."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ...run.contract import Args
from ..record import Case

IGNORE = -100

OUT_OF_RANGE = (
    (
        "a label of V",
        2,
        50,
        "There is no class 50 among 50. Unchecked, logits_ptr + label is the next row's first logit.",
    ),
    ("a label far out of range", 3, 32_000, "A token of a larger vocabulary. Unchecked, the address is anybody's."),
    ("a negative label", 1, -7, "-7 is no class and is not ignore_index. In Python it would count from the end."),
)


def bad_label(case: Case, row: int, label: int, classes: int) -> Case:
    """The case, which has to raise an IndexError that names this row and label."""
    pattern, repaired = names(row, label), without_bad_labels(classes)
    return replace(case, raises=IndexError, says=pattern, repaired=repaired, convention="bad label")


def without_bad_labels(classes: int) -> Callable[[Args], Args]:
    """For the arguments of a call, the same with each label that is no class ignored."""

    def repaired(args: Args) -> Args:
        return tuple(
            a.where((a >= 0) & (a < classes), IGNORE) if isinstance(a, Tensor) and a.dtype == torch.int64 else a
            for a in args
        )

    return repaired


def names(row: int, label: int) -> str:
    """The pattern of a message that names both."""
    return rf"(?s)(?=.*(?<!\d){row}\b)(?=.*(?<![\d-]){label}\b)"
