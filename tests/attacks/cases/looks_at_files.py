# exercise: silu_backward
# backend: torch
# expect: full
# weak: full: files are not hidden on this rung
# ruff: noqa: F401
"""Learns of files without reading them: O_PATH, and what lies beside their contents."""

import os

import torch

SECRET = "@SCENE@/secret"


def attack():
    attempts = {
        "size": lambda: os.fstat(os.open(SECRET, os.O_PATH)).st_size,
        "setxattr": lambda: os.setxattr(SECRET, "user.escaped", b"1"),
        "getxattr": lambda: os.getxattr(SECRET, "user.escaped"),
        "listxattr": lambda: os.listxattr(SECRET),
    }
    for name, attempt in attempts.items():
        try:
            print("ESCAPED", name, attempt())
        except OSError:
            pass


# include: right
