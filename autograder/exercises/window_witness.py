"""A kernel to break: a softmax over a sliding window. Case: sglang#32087."""

from dataclasses import replace

import torch
from torch import Tensor

from ...kernels.wild import sliding_window as wild
from .cases.suspect import first, suspect


def window_softmax(x: Tensor, window: int = 4096) -> Tensor:
    """The softmax of each row over its last ``window`` elements, 0 before them, float32. x: (M, N), window at least 1;
    a row that is shorter than the window is seen whole.
    """
    seen = torch.arange(x.shape[1]) >= x.shape[1] - window
    return x.masked_fill(~seen, -torch.inf).softmax(1)


def _no_window(x: Tensor, window: int = 4096) -> str:
    return first(
        (x.dim() == 2 and x.numel() > 0, "x is a matrix (M, N) with elements."),
        (window >= 1, "window is 1 or more."),
        (bool((x.abs() <= 1e4).all()), "Numbers lie between -10,000 and 10,000."),
    )


window_witness = replace(
    suspect(
        window_softmax,
        torch.float32,
        wild.window_softmax_one_short,
        thread="sgl-project/sglang#32087",
        story="sglang stored the window less one, as a distance, and its Triton decode took that for a number of keys: "
        "the oldest key of the window was never read.",
        apart=lambda x, window=4096: 0.1,
        asked="0.1",
        complaint=_no_window,
        hint="Count the lanes that are seen, for a row of 8 and a window of 3. When does it make no difference?",
        who="the kernel",
    ),
    name="window_witness",
    summary="(x, window) on which the kernel is off by more than 0.1",
)
