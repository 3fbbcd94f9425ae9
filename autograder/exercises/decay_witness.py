"""An input to find: decays of which one factor is flushed to 0 before the other overflows. Case: tt-metal#56550."""

from dataclasses import replace

import torch
from torch import Tensor

from ..judge import Tolerance, Witness
from .cases.suspect import first
from .decay_scan import PRODUCTS, decay_scan, scan

SHARE = 0.05  # of the largest element of h


def apart(x: Tensor, log_decay: Tensor) -> Tensor:
    """SHARE of the largest element of h: more than what some element of a witness is off by."""
    return SHARE * scan(x, log_decay).abs().max()


def no_sequence(x: Tensor, log_decay: Tensor) -> str:
    """Returns what is wrong with an input: also one on which the product form shows itself by a NaN or an infinity."""
    shaped = x.dim() == 2 and x.numel() > 0 and log_decay.shape == x.shape[:1]
    if message := first(
        (shaped, "x is a matrix (T, D) with elements, and log_decay has T."),
        (bool((x.abs() <= 1e4).all()), "Numbers of x lie between -10,000 and 10,000."),
        (bool(((log_decay <= 0) & (log_decay >= -100)).all()), "Decays lie between -100 and 0."),
    ):
        return message
    loud = not PRODUCTS.function(x, log_decay).isfinite().all()
    return "The product form gives NaN or infinity here: everybody would see that." if loud else ""


decay_witness = Witness(
    name="decay_witness",
    summary="(x, log_decay) on which e^(c_i) · e^(-c_j) in chunks of 64 is off by more than 5 %, and finite everywhere",
    exercise=replace(
        decay_scan,
        cases=(),
        wild=(),
        about=(),
        tolerance=Tolerance(0, 0, "A twentieth of the largest element of h.", lambda *args: (apart(*args),)),
    ),
    bug=replace(PRODUCTS, who="e^(c_i) · e^(-c_j), flushed below 2^-126,"),
    hint="From which c on is e^(-c) infinite in float32? From which c on is e^c below 2^-126, and flushed to 0? Where "
    "do the running sums of a chunk have to end?",
    asked="5 % of the largest element of h",
    apart=apart,
    complaint=no_sequence,
    floats=(torch.float32,),
)
