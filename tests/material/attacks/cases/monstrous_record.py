# exercise: silu_forward
# backend: triton
# expect: nothing
# ruff: noqa: F821
"""A record of launches that reaches out of memory, names no kernel, and is larger than any machine."""

import sys

# include: silu_kernel

for name, module in list(sys.modules.items()):
    if name.endswith("worker.recorder"):

        def finish(self, result):
            ref = {"buffer": 1, "dtype": "float32", "shape": [2**40], "stride": [2**40], "offset": 2**50}
            grid = [2**40, 2**40, 2**40]
            step = {"launch": "__import__('os').system", "grid": grid, "arguments": {"x": {"ref": ref}}, "options": {}}
            buffers = [{"input": 7}, {"dtype": "float32", "elements": 2**60}]
            self.plan = {"buffers": buffers, "steps": [step], "outputs": [ref], "globals": {"tl": "os"}, "tuned": []}

        module.Recorder._finish = finish


# include: launch
