# exercise: silu_backward
# backend: torch
# expect: full
# weak: full: files are not hidden on this rung
# ruff: noqa: F401
"""Lists folders, which tells names."""

import os

import torch


def attack():
    for path in ("@SCENE@", "@ROOT@", "@ROOT@/autograder/exercises", "/home", "/etc"):
        try:
            if os.listdir(path):
                print("ESCAPED", path)
        except OSError:
            pass


# include: right
