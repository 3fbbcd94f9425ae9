# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Puts a file among the libraries, where the next process would import it."""

import os

import torch


def attack():
    for folder in (os.path.dirname(torch.__file__), os.path.dirname(os.path.dirname(torch.__file__)), "@ROOT@"):
        try:
            open(os.path.join(folder, "@MARK@.py"), "w").close()
            print("ESCAPED", folder)
        except OSError:
            pass


# include: right
