# exercise: silu_forward
# backend: triton
# expect: nothing
# trouble: refused
"""Launches nothing."""


def silu_forward(x):
    return x
