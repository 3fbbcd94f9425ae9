# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: raised
"""Raises what is no Exception."""


def silu_backward(dy, x):
    raise KeyboardInterrupt
