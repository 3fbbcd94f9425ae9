# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Leaves shared memory and queues behind, and reaches for those that others left."""

import ctypes
import platform
from multiprocessing import shared_memory

import torch

MQ_UNLINK = {"x86_64": 241, "aarch64": 181}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)


def attack():
    try:
        shared_memory.SharedMemory("@MARK@", create=True, size=1024)
        print("ESCAPED")
    except OSError:
        pass
    if max(libc.shmget(0, 4096, 0o1600), libc.msgget(0, 0o1600), libc.semget(0, 1, 0o1600)) >= 0:
        print("ESCAPED")
    room = ctypes.create_string_buffer(1024)
    info = (libc.shmctl, 0, 14, room), (libc.msgctl, 0, 12, room), (libc.semctl, 0, 0, 19, room)
    if max(call(*arguments) for call, *arguments in info) >= 0:  # identifiers are small: whoever may ask finds them all
        print("ESCAPED")
    if libc.syscall(ctypes.c_long(MQ_UNLINK), b"nobody's") < 0 and ctypes.get_errno() != 1:
        print("ESCAPED")


# include: right
