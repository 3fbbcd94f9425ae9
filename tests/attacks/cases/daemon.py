# exercise: silu_backward
# backend: torch
# expect: full
# weak: full
# ruff: noqa: F401
"""Leaves a process behind that outlives the check."""

import os
import time

import torch


def attack():
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(30)
            os._exit(0)
    except OSError:
        pass


# include: right
