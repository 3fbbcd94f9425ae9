# exercise: silu_backward
# backend: torch
# expect: nothing
"""Describes an output of more elements than there are addresses."""

import json
import os


def silu_backward(dy, x):
    os.write(7, json.dumps({"trouble": None, "outputs": [{"dtype": "float64", "shape": [2**61, 2**61]}]}).encode())
    os._exit(0)
