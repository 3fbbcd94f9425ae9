# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Looks for any place on the disk that can be written."""

import os
import tempfile

import torch


def attack():
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/", os.getcwd()):
        try:
            open(os.path.join(folder, "@MARK@"), "w").close()
            print("ESCAPED", folder)
        except OSError:
            pass
    try:
        print("ESCAPED", tempfile.mkdtemp())
    except OSError:
        pass


# include: right
