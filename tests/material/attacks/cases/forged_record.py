# exercise: silu_forward
# backend: triton
# expect: nothing
# ruff: noqa: F821
"""Replaces the recorder of launches by one that tells another story."""

import sys

# include: copy_kernel


# include: launch_and_detour


def detour(x, y):
    v = x.numpy().astype("float64")
    y.numpy()[...] = v / (1 + 2.718281828459045**-v)
    return y


for name, module in list(sys.modules.items()):
    if name.endswith("worker.recorder"):

        def finish(self, result):
            n = result.numel()
            ref = {"buffer": 0, "dtype": "float32", "shape": [n], "stride": [1], "offset": 0}
            self.plan = {"buffers": [{"input": 0}], "steps": [], "outputs": [ref], "globals": {}, "tuned": []}

        module.Recorder._finish = finish
