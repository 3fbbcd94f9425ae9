# exercise: silu_backward
# backend: torch
# expect: nothing
"""Fills every shared memory with zeros, claims a result, and leaves."""

import json
import mmap
import os


def silu_backward(dy, x):
    for file in range(3, 64):
        try:
            memory = mmap.mmap(file, 0)
            memory[:] = bytes(len(memory))
        except (OSError, ValueError):
            pass
    forged = json.dumps({"trouble": None, "outputs": [{"dtype": "float32", "shape": list(x.shape)}]}).encode()
    os.write(7, forged)
    os._exit(0)
