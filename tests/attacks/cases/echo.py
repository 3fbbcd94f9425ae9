# exercise: silu_backward
# backend: torch
# expect: nothing
"""Returns its input."""


def silu_backward(dy, x):
    return dy
