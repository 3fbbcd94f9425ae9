# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: raised
# weak: skip: nothing on this rung would stop it
"""Becomes another program."""

import os


def silu_backward(dy, x):
    os.execv("/usr/bin/touch", ["touch", "@SCENE@/started"])
