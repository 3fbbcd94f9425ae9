"""A kernel to break: the token of a rank. Case: tokenspeed#280."""

from dataclasses import replace

import torch
from torch import Tensor

from ...kernels.wild import ranked_token as wild
from .cases.suspect import first, suspect


def ranked_token(logits: Tensor, rank: Tensor) -> Tensor:
    """(M,) int64: the token that stands at place ``rank`` when the logits of its row are sorted from the largest, equal
    ones by their token. logits: (M, V)   rank: (M,) int64, from 0 to V - 1.
    """
    return logits.sort(dim=1, descending=True, stable=True).indices.gather(1, rank.unsqueeze(1)).squeeze(1)


def _no_rank(logits: Tensor, rank: Tensor) -> str:
    shaped = logits.dim() == 2 and logits.numel() > 0 and rank.shape == logits.shape[:1]
    return first(
        (shaped, "logits are a matrix (M, V) with elements, and rank is (M,)."),
        (not shaped or bool(((rank >= 0) & (rank < logits.shape[1])).all()), "A rank lies between 0 and V - 1."),
    )


rank_witness = replace(
    suspect(
        ranked_token,
        torch.int64,
        wild.ranked_token_by_value,
        thread="lightseekorg/tokenspeed#280",
        story="tokenspeed's sampler drew a rank, kept the logit at that rank, and took the first token that has it. "
        "A model found it in review.",
        apart=lambda logits, rank: 0.0,
        asked="0: a wrong token",
        complaint=_no_rank,
        hint="From the rank it goes to a value, and from the value back to a token. When is there no way back?",
        integers=("rank",),
        who="the kernel",
    ),
    name="rank_witness",
    summary="(logits, rank) on which the kernel gives a wrong token",
)
