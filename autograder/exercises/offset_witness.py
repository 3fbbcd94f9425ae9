"""A kernel to break: the loss of a row, taken of lse. Case: pytorch#195829."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ...kernels.wild import cross_entropy as wild
from .cases.suspect import first, suspect


def row_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """(M,) float32: the cross-entropy of each row of logits (M, V). labels: (M,) int64, from 0 to V - 1."""
    return F.cross_entropy(logits, labels, reduction="none")


def _no_rows(logits: Tensor, labels: Tensor) -> str:
    shaped = logits.dim() == 2 and logits.numel() > 0 and labels.shape == logits.shape[:1]
    return first(
        (shaped, "logits are a matrix (M, V) with elements, and labels are (M,)."),
        (not shaped or bool(((labels >= 0) & (labels < logits.shape[1])).all()), "A label lies between 0 and V - 1."),
        (bool((logits.double().abs() <= 1e9).all()), "Logits lie between -1e9 and 1e9."),
    )


offset_witness = replace(
    suspect(
        row_loss,
        torch.float32,
        wild.loss_from_lse,
        thread="pytorch/pytorch#195829",
        story="A kernel on its way into PyTorch took the loss of lse. log Σ is a small number, added to a large one "
        "before the label's logit is subtracted from it. A model found it in review.",
        apart=lambda logits, labels: 0.1,
        asked="0.1",
        complaint=_no_rows,
        hint="What may be added to all logits without changing the loss? Which digits of lse are left then?",
        integers=("labels",),
        who="the kernel",
    ),
    name="offset_witness",
    summary="(logits, labels) on which the kernel is off by more than 0.1",
)
