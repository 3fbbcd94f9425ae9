# exercise: silu_backward
# backend: torch
# expect: nothing
# limits: memory=300000000, seconds=10
"""Allocates lists until nothing is left."""


def silu_backward(dy, x):
    kept = []
    while True:
        kept.append([0] * 1_000_000)
