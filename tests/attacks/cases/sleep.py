# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: timeout
# limits: seconds=1.5, total_seconds=2, wall_factor=2
"""Waits, which costs no processor time."""

import time


def silu_backward(dy, x):
    time.sleep(3600)
