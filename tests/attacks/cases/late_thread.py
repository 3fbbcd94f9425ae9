# exercise: silu_backward
# backend: torch
# expect: nothing
# limits: seconds=5, total_seconds=5
"""A thread that goes on writing into the result after it was handed over."""

import threading

import torch


def silu_backward(dy, x):
    result = torch.zeros_like(x)
    threading.Thread(target=lambda: [result.fill_(i) for i in range(10**9)], daemon=True).start()
    return result
