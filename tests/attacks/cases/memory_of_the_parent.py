# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Reads the parent's memory."""

import os

import torch


def attack():
    parent = os.getppid()
    for path in (f"/proc/{parent}/mem", f"/proc/{parent}/environ", f"/proc/{parent}/maps"):
        try:
            open(path, "rb").read(1)
            print("ESCAPED", path)
        except OSError:
            pass


# include: right
