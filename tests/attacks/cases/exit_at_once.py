# exercise: silu_backward
# backend: torch
# expect: nothing
"""Leaves the process while it is loaded."""

import os

os._exit(0)
