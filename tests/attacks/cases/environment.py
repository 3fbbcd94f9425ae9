# exercise: silu_backward
# backend: torch
# expect: full
# ruff: noqa: F401
"""Reads the environment, where graders keep secrets."""

import os

import torch


def attack():
    print(dict(os.environ))
    try:
        print(open("/proc/self/environ").read())
    except OSError:
        pass


# include: right
