# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Reads a file of the grader through a symbolic link and through its own descriptors."""

import os

import torch


def attack():
    for place in ("/tmp/@MARK@", "/dev/shm/@MARK@", "@MARK@"):
        try:
            os.symlink("@SCENE@/secret", place)
            print(open(place).read(), "ESCAPED")
        except OSError:
            pass
    for path in ("/proc/self/root@SCENE@/secret", "/proc/self/cwd/..@SCENE@/secret"):
        try:
            print(open(path).read(), "ESCAPED")
        except OSError:
            pass


# include: right
