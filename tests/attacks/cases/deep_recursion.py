# exercise: silu_backward
# backend: torch
# expect: nothing
# limits: seconds=8, total_seconds=8
"""Recurses until the stack is gone."""

import sys

sys.setrecursionlimit(10**9)


def deeper(n):
    return [deeper(n + 1)]


def silu_backward(dy, x):
    return deeper(0)
