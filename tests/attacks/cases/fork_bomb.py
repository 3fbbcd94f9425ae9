# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Forks, and its children fork."""

import os

import torch


def attack():
    for _ in range(8):
        try:
            os.fork()
        except OSError:
            return
        print("ESCAPED")


# include: right
