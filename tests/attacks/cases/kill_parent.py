# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Signals the process that started it."""

import os
import signal

import torch


def attack():
    for call in (os.kill, lambda pid, number: signal.pidfd_send_signal(os.pidfd_open(pid), number)):
        try:
            call(os.getppid(), signal.SIGTERM)
            print("ESCAPED")
        except OSError:
            pass


# include: right
