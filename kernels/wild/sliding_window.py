"""The softmax of a sliding window as it shipped, bug for bug."""

import torch


def window_softmax_one_short(x, window=4096):
    """sglang's decode with Triton: the buffer holds window - 1 keys, and the oldest key of the window is not in it.

    The model's window was stored less one, as the distance to the oldest key, and then taken for a number of keys.
    github.com/sgl-project/sglang/pull/32087 (2026-07-22).
    """
    seen = torch.arange(x.shape[1]) > x.shape[1] - window
    return x.float().masked_fill(~seen, -torch.inf).softmax(1)
