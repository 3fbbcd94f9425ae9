# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Takes the parent's limits away, and the processor from it."""

import os
import resource

import torch


def attack():
    attempts = (
        lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0)),
        lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19),
        lambda: os.sched_setaffinity(os.getppid(), {0}),
        lambda: os.nice(-5),
    )
    for attempt in attempts:
        try:
            attempt()
            print("ESCAPED")
        except OSError:
            pass


# include: right
