"""A batch on which the mean of a cross-entropy fails. Case: Liger-Kernel#177."""

import torch
from torch import Tensor

from ...kernels.wild import cross_entropy as wild
from ..judge import Exercise, Floors, Output, Tolerance, WildBug, Witness
from .cases.rounding import EPS
from .cross_entropy import losses_and_lse

RATIO = WildBug(
    who="Liger-Kernel 0.0.1-0.2.1",
    thread="linkedin/Liger-Kernel#177",
    function=wild.mean_cross_entropy_ratio,
    seen_by="no token",
    story="n_non_ignore / total_n_non_ignore, two Python integers, and the second one 0.",
)


def _mean_cross_entropy(logits: Tensor, labels: Tensor, ignore_index: int = -100) -> Tensor:
    loss, _ = losses_and_lse(logits, labels, ignore_index)
    return loss.sum() / max(int((labels != ignore_index).sum()), 1)


def _floor(logits: Tensor, labels: Tensor, ignore_index: int = -100) -> Floors:
    return (EPS * 32 * logits.abs().amax() if logits.numel() else 0.0,)


def _no_witness(logits: Tensor, labels: Tensor, ignore_index: int = -100) -> str:
    """Returns why cross-entropy does not accept these arguments; "" if it does."""
    if logits.dim() != 2 or labels.shape != logits.shape[:1]:
        return "logits are a matrix (M, V), labels are (M,)."
    bad = (labels != ignore_index) & ((labels < 0) | (labels >= logits.shape[1]))
    return (
        f"Label {labels[bad][0]} is neither a class nor ignore_index. That is bad input, not a witness."
        if bad.any()
        else ""
    )


cross_entropy_witness = Witness(
    name="cross_entropy_witness",
    summary="(logits, labels) on which the mean of Liger-Kernel 0.2.1 fails",
    exercise=Exercise(
        name="mean_cross_entropy",
        summary="the mean of loss over the rows that count",
        oracle=_mean_cross_entropy,
        outputs=(Output("mean", torch.float32),),
        cases=(),
        tolerance=Tolerance(1, 8, "Float32 sums in any order.", _floor),
        hint="",
    ),
    bug=RATIO,
    hint="It divides by the number of labels that count. -100 is the label that does not.",
    complaint=_no_witness,
    integers=frozenset({"labels"}),
    points=2,
)
