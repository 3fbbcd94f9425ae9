"""A kernel to break: a step of the optimizer Lion. Case: bitsandbytes#1992."""

from dataclasses import replace

import torch
from torch import Tensor

from ...kernels.wild import lion as wild
from .cases.suspect import first, suspect

CLEAR = 1e-4  # of the two terms whose sum has a sign: what no rounding decides


def lion_step(
    param: Tensor, grad: Tensor, m: Tensor, lr: float = 1e-4, beta: float = 0.9, decay: float = 0.01
) -> Tensor:
    """param - lr · decay · param - lr · sign(beta · m + (1 - beta) · grad), float32. param, grad, m: vectors of one
    length. lr from 1e-6 to 1, beta from 0 to below 1, decay from 0 to 100.
    """
    return param * (1 - lr * decay) - lr * torch.sign(beta * m + (1 - beta) * grad)


def _no_step(param: Tensor, grad: Tensor, m: Tensor, lr: float = 1e-4, beta: float = 0.9, decay: float = 0.01) -> str:
    if message := first(
        (param.dim() == 1 and param.numel() > 0, "param is a vector with elements."),
        (param.shape == grad.shape == m.shape, "param, grad and m have one shape."),
        (all(bool((t.abs() <= 100).all()) for t in (param, grad, m)), "Numbers lie between -100 and 100."),
        (
            1e-6 <= lr <= 1 and 0 <= beta < 1 and 0 <= decay <= 100,
            "lr is 1e-6 to 1, beta 0 to below 1, decay 0 to 100.",
        ),
    ):
        return message
    old, new = beta * m.double(), (1 - beta) * grad.double()
    open_ = ((old + new).abs() <= CLEAR * (old.abs() + new.abs())) & (old.abs() + new.abs() > 0)
    return "beta · m and (1 - beta) · grad cancel: rounding decides the sign." if bool(open_.any()) else ""


lion_witness = replace(
    suspect(
        lion_step,
        torch.float32,
        wild.lion_step_decay_in_the_sign,
        thread="bitsandbytes-foundation/bitsandbytes#1992",
        story="bitsandbytes added the decay to the gradient, as its other optimizers do. In Lion that goes through a "
        "sign: weights do not decay, and some step the wrong way.",
        apart=lambda param, grad, m, lr=1e-4, beta=0.9, decay=0.01: lr,
        asked="lr",
        complaint=_no_step,
        hint="What does the decay change here, and what should it change? Of a sign nothing is left but its direction.",
        who="the kernel",
    ),
    name="lion_witness",
    summary="(param, grad, m) or with (lr, beta, decay) behind it, on which the kernel is off by more than lr",
)
