# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Leaves shared memory behind."""

from multiprocessing import shared_memory

import torch


def attack():
    try:
        shared_memory.SharedMemory("@MARK@", create=True, size=1024)
        print("ESCAPED")
    except OSError:
        pass


# include: right
