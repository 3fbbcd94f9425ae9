# exercise: silu_backward
# backend: torch
# expect: nothing
"""A trace function that watches the grader's own functions return."""

import sys

import torch

seen = []


def trace(frame, event, value):
    if event == "return" and isinstance(value, torch.Tensor):
        seen.append(value)
    return trace


def silu_backward(dy, x):
    sys.settrace(trace)
    frame = sys._getframe().f_back
    while frame is not None:
        frame.f_trace = trace
        frame = frame.f_back
    return torch.zeros_like(x)
