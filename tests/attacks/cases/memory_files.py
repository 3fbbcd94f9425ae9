# exercise: silu_backward
# backend: torch
# expect: nothing
# limits: memory=300000000, seconds=10
"""Fills files that exist in memory only."""

import os


def silu_backward(dy, x):
    while True:
        file = os.memfd_create("hoard")
        for _ in range(20):
            os.write(file, b"x" * 50_000_000)
