# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: crashed
"""Aborts."""

import os


def silu_backward(dy, x):
    os.abort()
