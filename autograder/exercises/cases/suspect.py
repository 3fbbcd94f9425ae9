"""A part of a block in which a bug that shipped may be planted, and the input that convicts it."""

from collections.abc import Callable

import torch
from torch import Tensor

from ...judge import Exercise, Output, Tolerance, WildBug, Witness

SCORES = 1 << 20  # of a product of two tensors, which grows as the square of what a witness may hold
OBVIOUS = "A witness should convict at a glance, by far more than any rounding."


def suspect(
    oracle: Callable[..., Tensor],
    like: str | torch.dtype,
    planted: Callable[..., Tensor],
    *,
    thread: str,
    story: str,
    apart: Callable[..., Tensor | float],
    complaint: Callable[..., str],
    asked: str,
    hint: str,
    integers: tuple[str, ...] = (),
    floats: tuple[torch.dtype, ...] = Witness.floats,
    who: str = "",
) -> Witness:
    """The witness against ``planted``, which is to compute ``oracle``, a function in float64 of its name and contract.

    like: the dtype of the result (`record.Output`). apart: how far off a result has to be, for these arguments in
    float64. asked, complaint, integers, floats: as in `record.Witness`. story: who shipped it, and what it did. who:
    what a report calls ``planted``.
    """
    exercise = Exercise(
        name=oracle.__name__,
        summary=" ".join((oracle.__doc__ or "").split()),
        oracle=oracle,
        outputs=(Output("y", like),),
        cases=(),
        tolerance=Tolerance(1, 8, OBVIOUS, lambda *args: (apart(*args),)),
        hint="",
    )
    bug = WildBug(who or f"what is planted in {exercise.name}", thread, planted, "", story)
    return Witness(
        name=exercise.name,
        summary=exercise.summary,
        exercise=exercise,
        bug=bug,
        hint=hint,
        asked=asked,
        apart=apart,
        complaint=complaint,
        integers=frozenset(integers),
        floats=floats,
    )


def first(*complaints: tuple[bool, str]) -> str:
    """The sentence of the first of (right, sentence) that is not right; "" where all are."""
    return next((sentence for right, sentence in complaints if not right), "")


def too_many_scores(count: int) -> str:
    """The complaint about a witness whose scores are too many to compute; "" where they are not."""
    return f"There are {count:,} scores, of at most {SCORES:,}." if count > SCORES else ""
