# exercise: silu_backward
# backend: torch
# expect: nothing
# trouble: raised
"""Asks politely to leave."""

import sys


def silu_backward(dy, x):
    sys.exit(0)
