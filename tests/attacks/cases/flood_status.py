# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: timeout
# limits: seconds=1
"""Writes a hundred megabytes into every descriptor."""

import os


def silu_backward(dy, x):
    for _ in range(1600):
        for file in range(1, 9):
            try:
                os.write(file, b"[" * (1 << 16))
            except OSError:
                pass
    return x
