"""A kernel to break: SwiGLU with a limit. Case: sglang#31935."""

from dataclasses import replace

import torch
from torch import Tensor

from ...kernels.wild import clamped_swiglu as wild
from .cases.suspect import first, suspect


def clamped_swiglu(gate: Tensor, up: Tensor, limit: float = 10.0, alpha: float = 0.0) -> Tensor:
    """silu(g) · u, float32, with g the gate, at most limit, and u between -limit and limit. With alpha above 0, as in
    gpt-oss: g · sigmoid(alpha · g) · (u + 1). gate, up: vectors of one length.
    """
    g, u = gate.clamp(max=limit), up.clamp(-limit, limit)
    return g * torch.sigmoid(alpha * g) * (u + 1) if alpha > 0 else g * torch.sigmoid(g) * u


def _no_gate(gate: Tensor, up: Tensor, limit: float = 10.0, alpha: float = 0.0) -> str:
    return first(
        (gate.dim() == 1 and gate.numel() > 0, "gate is a vector with elements."),
        (gate.shape == up.shape, "gate and up have one shape."),
        (all(bool((t.double().abs() <= 1e4).all()) for t in (gate, up)), "Numbers lie between -10,000 and 10,000."),
        (0 < limit <= 1e4 and 0 <= alpha <= 10, "limit is above 0, and at most 10,000; alpha is 0 to 10."),
    )


limit_witness = replace(
    suspect(
        clamped_swiglu,
        torch.float32,
        wild.swiglu_with_a_limit_beside_alpha,
        thread="sgl-project/sglang#31935",
        story="sglang had the limit in the branch of models with an alpha. Of models with a limit and no alpha nothing "
        "was limited.",
        apart=lambda gate, up, limit=10.0, alpha=0.0: 0.1,
        asked="0.1",
        complaint=_no_gate,
        hint="Go through the two branches of the kernel, and ask of each line of the contract where it is.",
        who="the kernel",
    ),
    name="limit_witness",
    summary="(gate, up) or with (limit, alpha) behind it, on which the kernel is off by more than 0.1",
)
