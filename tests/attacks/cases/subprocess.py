# exercise: silu_backward
# backend: torch
# expect: full
# weak: skip: nothing on this rung would stop it
# ruff: noqa: F401
"""Starts a program."""

import subprocess

import torch


def attack():
    for command in (["/usr/bin/touch", "@SCENE@/started"], ["/bin/sh", "-c", "echo ESCAPED"]):
        try:
            subprocess.run(command, check=True)
        except OSError:
            pass


# include: right
