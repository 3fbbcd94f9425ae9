# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: crashed
"""Reads from address 0."""

import ctypes


def silu_backward(dy, x):
    ctypes.string_at(0)
