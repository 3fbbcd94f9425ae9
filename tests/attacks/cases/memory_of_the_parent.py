# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Reads and writes the parent's memory."""

import ctypes
import os

import torch

libc = ctypes.CDLL(None, use_errno=True)


def attack():
    parent = os.getppid()
    for path in (f"/proc/{parent}/mem", f"/proc/{parent}/environ", f"/proc/{parent}/maps"):
        try:
            open(path, "rb").read(1)
            print("ESCAPED", path)
        except OSError:
            pass
    if libc.ptrace(0x4206, parent, None, None) == 0:
        print("ESCAPED ptrace")


# include: right
