# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: unloadable
# ruff: noqa: F401
"""Asks the kernel directly for what Python does not offer."""

import ctypes
import platform

import torch

libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = (41, 53, 56, 57, 58, 59, 101, 155, 161, 165, 248, 250, 272, 298, 308, 310, 321, 323, 425, 428, 434, 435)


def attack():
    if platform.machine() != "x86_64":
        return
    for number in NUMBERS:
        if libc.syscall(number, 0, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() not in (1, 38):
            print("ESCAPED", number, ctypes.get_errno())


# include: right
