# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Starts a shell by every name that Python has for it."""

import os

import torch


def attack():
    command = "touch @SCENE@/started"
    starts = (os.system, os.popen, lambda line: os.posix_spawn("/usr/bin/touch", line.split(), {}))
    for start in starts:
        try:
            start(command)
        except OSError:
            pass


# include: right
