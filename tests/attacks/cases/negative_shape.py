# exercise: silu_backward
# backend: torch
# expect: nothing
"""Describes an output of a negative number of elements, in a dtype that does not exist."""

import json
import os


def silu_backward(dy, x):
    os.write(7, json.dumps({"trouble": None, "outputs": [{"dtype": "os", "shape": [-1, "x", 1e400]}]}).encode())
    os._exit(0)
