# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Leaves shared memory and queues behind."""

import ctypes
from multiprocessing import shared_memory

import torch

libc = ctypes.CDLL(None, use_errno=True)


def attack():
    try:
        shared_memory.SharedMemory("@MARK@", create=True, size=1024)
        print("ESCAPED")
    except OSError:
        pass
    if max(libc.shmget(0, 4096, 0o1600), libc.msgget(0, 0o1600), libc.semget(0, 1, 0o1600)) >= 0:
        print("ESCAPED")


# include: right
