# kind: loading
# exercise: silu_backward
# backend: torch
"""What a file does while it is loaded, in front of an answer that returns zeros."""

import json
import os
import sys

import numpy
import torch


# expect: nothing
def claims_full_marks():
    """Prints a report."""
    print('{"exercise": "silu_backward", "passed": true, "score": 1.0}')


# expect: nothing
def exit_at_once():
    """Leaves the process while it is loaded."""
    os._exit(0)


# expect: nothing
# trouble: timeout
# limits: seconds=1.5, total_seconds=2
# slow: yes
def endless_import():
    """Never finishes loading."""
    while True:
        pass


# expect: nothing
def patch_comparison():
    """Makes every comparison of PyTorch and NumPy true. The comparison is in another process."""
    for module, names in ((torch, ("allclose", "equal", "isclose")), (numpy, ("allclose", "array_equal"))):
        for name in names:
            setattr(module, name, lambda *args, **kwargs: True)
    torch.testing.assert_close = lambda *args, **kwargs: None
    torch.Tensor.equal = torch.Tensor.__eq__ = lambda *args: True


# expect: nothing
def patch_grader_modules():
    """Replaces what it finds of the grader by something that is content with everything."""

    class Content:
        trouble = None
        outputs = ()

        def __init__(self, *args, **kwargs):
            pass

        def __getattr__(self, name):
            return lambda *args, **kwargs: self

    for name, module in list(sys.modules.items()):
        if name.startswith("graded_kernels"):
            for attribute in [a for a in vars(module) if not a.startswith("__")]:
                setattr(module, attribute, Content)


# expect: nothing
def patch_json():
    """Replaces the functions that write the status."""
    json.dumps = lambda *args, **kwargs: '{"trouble": null, "outputs": [{"dtype": "float32", "shape": [4096]}]}'
    os.write = lambda *args: 0


# expect: nothing
def patch_methods():
    """Replaces the tensor methods that hand the result over."""
    torch.Tensor.copy_ = lambda self, *args, **kwargs: self
    torch.Tensor.clone = torch.Tensor.detach = torch.Tensor.cpu = lambda self, *args, **kwargs: self
    torch.frombuffer = lambda *args, **kwargs: torch.zeros(1)
