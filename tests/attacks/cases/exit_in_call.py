# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: crashed
"""Leaves the process without a result."""

import os


def silu_backward(dy, x):
    os._exit(0)
