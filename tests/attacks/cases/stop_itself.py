# exercise: silu_backward
# backend: torch
# expect: nothing
# limits: seconds=1.5, total_seconds=2
"""Stops, so that waiting for its end takes for ever."""

import signal

import torch


def silu_backward(dy, x):
    signal.raise_signal(signal.SIGSTOP)
    return torch.zeros_like(x)
