"""A decaying sum along time in PyTorch, by doubling.

    h_t = e^(g_t) · h_(t-1) + x_t,  nothing before the first     x, h: (T, D)   g = log_decay: (T,), 0 or below

Row t of ``h`` holds what the last 1, 2, 4, ... rows up to t leave in it, and ``decay`` what their decays leave of
anything older: two such windows, one behind the other, are one of twice the length. Every factor is at most 1. In
float32 (float64 for float64 input), rounded once at the end.
"""

import torch


# %% decay_scan
def decay_scan(x: torch.Tensor, log_decay: torch.Tensor) -> torch.Tensor:
    """(T, D), like x: h_t = e^(log_decay_t) · h_(t-1) + x_t, from h = 0, in float32 and rounded once.

    log_decay: (T,) float32, from -100 to 0, or -inf, where h starts anew. What comes after t, NaN and infinity
    included, leaves no trace in row t. T may be 0. x: any strides; log_decay is contiguous. cumsum of anything,
    products of matrices and loops over t are all allowed.
    """
    h = x.to(torch.promote_types(x.dtype, torch.float32))
    decay = log_decay.to(h.dtype).exp()[:, None]
    step = 1
    while step < len(h):
        h = torch.cat((h[:step], h[step:] + decay[step:] * h[:-step]))
        decay = torch.cat((decay[:step], decay[step:] * decay[:-step]))
        step *= 2
    return h.to(x.dtype, copy=True)
