"""``python -m benchmarks.gpu.bug VIEW NAME ...``: what becomes of planted bugs, one line of JSON for each as it ends.

VIEW: `device`, `simulated` (the emulator, in the device's place) or `emulator` (its sentence).
"""

import json
import sys

import planted
import torch
from graded_kernels.autograder import Emulator


def word(name: str, view: str) -> str:
    if view == "emulator":
        return planted.word(planted.named(name))
    if view == "simulated":
        with Emulator():
            return planted.plainly(name)
    torch.set_default_device("cuda")
    return planted.plainly(name)


if __name__ == "__main__":
    for one in sys.argv[2:]:
        print(json.dumps({"bug": one, "word": word(one, sys.argv[1])}), flush=True)
