# exercise: silu_backward
# backend: torch
# expect: nothing
"""Raises an error with fifty million characters."""


def silu_backward(dy, x):
    raise ValueError("x" * 50_000_000)
