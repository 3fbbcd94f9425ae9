"""Cross-entropy with label smoothing, a variant: the target is 1 - ε at the label and ε / V more in every class."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from .cases.common import EPS
from .record import Exercise, Floors, Variant
from .variants import in_another_kind, is_between


def _smoothed(record: Exercise, share: Any) -> Exercise:
    """The mean of a row's logits is a sum of V terms in any order, and rounds as often as their size."""
    floor = record.tolerance.floor
    assert floor is not None

    def oracle(logits: Tensor, labels: Tensor, ignore_index: int = -100) -> tuple[Tensor, Tensor]:
        loss, lse = record.oracle(logits, labels, ignore_index)
        smoothed = (1 - share) * loss + share * (lse - logits.mean(1))
        return smoothed.where(labels != ignore_index, 0.0), lse

    def allowed(logits: Tensor, labels: Tensor, ignore_index: int = -100) -> Floors:
        loss, lse = floor(logits, labels, ignore_index)
        size = logits.nan_to_num(nan=0, posinf=0, neginf=0).abs().mean(1)
        return loss + 8 * EPS * share * size.where(labels != ignore_index, 0.0), lse

    return in_another_kind(
        record,
        f"This class is asked for label smoothing of {share:g}.",
        summary=f"loss = lse - {1 - share:g} x[label] - {share:g} mean(x) for each row, lse = log Σ e^x; loss is 0 "
        "where label = ignore_index",
        oracle=oracle,
        tolerance=replace(record.tolerance, floor=allowed),
    )


def _smoothed_gradient(record: Exercise, share: Any) -> Exercise:
    floor = record.tolerance.floor
    assert floor is not None and record.forward is not None

    def oracle(dloss: Tensor, logits: Tensor, labels: Tensor, lse: Tensor, ignore_index: int = -100) -> Any:
        keep = (labels != ignore_index).unsqueeze(1)
        column = labels.unsqueeze(1).where(keep, 0)
        target = torch.full_like(logits, -share / max(logits.shape[1], 1))
        target = target.scatter_add(1, column, torch.full_like(column, share, dtype=target.dtype))
        more = (dloss.unsqueeze(1) * target).where(keep, 0.0)
        return record.oracle(dloss, logits, labels, lse, ignore_index) + more

    def allowed(dloss: Tensor, logits: Tensor, labels: Tensor, lse: Tensor, ignore_index: int = -100) -> Floors:
        (published,) = floor(dloss, logits, labels, lse, ignore_index)
        return (published + 4 * EPS * share / max(logits.shape[1], 1) * dloss.abs().nan_to_num().unsqueeze(1),)

    return in_another_kind(
        record,
        f"This class is asked for label smoothing of {share:g}.",
        summary=f"dlogits = dloss · (p - {share:g} / V, and {1 - share:g} less at the label), p = e^(x - lse); 0 where "
        "label = ignore_index",
        oracle=oracle,
        tolerance=replace(record.tolerance, floor=allowed),
        forward=_smoothed(record.forward, share),
    )


def _smoothing(made: Callable[[Exercise, Any], Exercise], old: str, new: str) -> Variant:
    def asks(share: Any) -> str:
        return (
            f"Labels are smoothed here: the target is {1 - share:g} at the label and **{share:g} / V** more in every "
            "class, V classes. Exercises below that do not say so have no smoothing."
        )

    return Variant(
        "label_smoothing",
        "a number from 0.01 to 0.5",
        is_between(0.01, 0.5),
        made,
        asks,
        lambda share: ((old, new.format(share)),),
    )


SMOOTHING = _smoothing(_smoothed, "(loss, lse):", "(loss, lse), with label smoothing of {:g}:")
SMOOTHING_GRADIENT = _smoothing(
    _smoothed_gradient, "dlogits, like logits, from", "dlogits, like logits, with label smoothing of {:g}, from"
)
