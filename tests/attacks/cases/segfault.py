# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: crashed
"""Reads from address 8."""

import ctypes


def silu_backward(dy, x):
    return ctypes.c_char.from_address(8).value
