"""SiLU's gradient as it shipped, bug for bug. Every operation is rounded to the dtype of its input, as the libraries
do.
"""

import torch


def silu_backward_divide_back(dy, x):
    """candle 0.4.1, 0.4.2, 0.5.0: s(x) is got back as y / x, which is 0/0 at x = 0.

    github.com/huggingface/candle/issues/2082 (2024-04-18), introduced by pull request 1706 on review advice, fixed in
    0.5.1 by pull request 2083.
    """
    y = x / (1 + torch.exp(-x))
    s = y / x
    return dy * (s * (1 + x * (1 - s)))


def silu_backward_epsilon(dy, x):
    """The cure that is often proposed, y / (x + 1e-8): no NaN at 0 in float32, but gradient 0 there instead of 1/2.

    It divides by zero at x = -1e-8 instead, and in float16, where 1e-8 rounds to 0, it changes nothing at all.
    """
    y = x / (1 + torch.exp(-x))
    s = y / (x + 1e-8)
    return dy * (s * (1 + x * (1 - s)))


def silu_backward_candle_now(dy, x):
    """candle since 0.7.0: s · (1 - y) + y, one multiplication less, which cancels where y is too large to hold the 1.

    Commit c0a559d42 (pull request 2393, 2024-08-04), in candle-core/src/backprop.rs. 0 or 2 instead of 1 for x above
    256 in bfloat16, above 2048 in float16, above 2^24 in float32.
    """
    s = torch.sigmoid(x)
    y = x * s
    return dy * (s * (1 - y) + y)
