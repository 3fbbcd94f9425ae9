"""A kernel to break: attention's probabilities for the gradient. Case: FastVideo#1730."""

from dataclasses import replace

import torch
from torch import Tensor

from ...kernels.wild import scaled_keys as wild
from .cases.suspect import first, suspect, too_many_scores


def probabilities(q: Tensor, k: Tensor) -> Tensor:
    """softmax(q kᵀ / √D), (M, N) float32. q: (M, D), k: (N, D), both bfloat16; D is a power of two."""
    return torch.softmax(q @ k.T / q.shape[1] ** 0.5, 1)


def _no_heads(q: Tensor, k: Tensor) -> str:
    shaped = q.dim() == k.dim() == 2 and q.numel() > 0 and k.numel() > 0 and q.shape[1] == k.shape[1]
    return first(
        (shaped, "q is (M, D) and k is (N, D), with elements."),
        (not shaped or q.shape[1] & (q.shape[1] - 1) == 0, "D is a power of two."),
        (all(bool((t.double().abs() <= 1e3).all()) for t in (q, k)), "Numbers lie between -1000 and 1000."),
    ) or too_many_scores(len(q) * len(k))


scaled_keys_witness = replace(
    suspect(
        probabilities,
        torch.float32,
        wild.probabilities_of_scaled_keys,
        thread="hao-ai-lab/FastVideo#1730",
        story="FastVideo rounded the scaled keys to bfloat16, and lse was exact. Gradients of a real model were a "
        "million times too large; every test had numbers near 1.",
        apart=lambda q, k: 0.1,
        asked="0.1",
        complaint=_no_heads,
        floats=(torch.bfloat16,),
        hint="Half an ulp of a bfloat16 is a 512th of it. How large is a score whose 512th moves e^score by a tenth?",
        who="the kernel",
    ),
    name="scaled_keys_witness",
    summary="(q, k) in bfloat16 on which a probability of the kernel is off by more than 0.1",
)
