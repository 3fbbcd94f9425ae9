# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Starts a shell by every name the C library has for it."""

import ctypes
import os

import torch

libc = ctypes.CDLL(None)


def attack():
    command = b"touch @SCENE@/started"
    libc.system(command)
    libc.popen(command, b"r")
    try:
        os.posix_spawn("/usr/bin/touch", ["touch", "@SCENE@/started"], {})
    except OSError:
        pass


# include: right
