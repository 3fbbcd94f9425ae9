# kind: answer
# exercise: silu_backward
# backend: torch
"""The grader's own messages forged, and its process searched for what is right."""

import gc
import json
import mmap
import os
import pickle
import sys

import torch


# expect: nothing
def forge_status(dy, x):
    """Writes a good status into every descriptor and leaves before anything is compared."""
    forged = {"trouble": None, "outputs": [{"dtype": "float32", "shape": list(x.shape)}]}
    for file in range(3, 64):
        try:
            os.write(file, json.dumps(forged).encode())
        except OSError:
            pass
    os._exit(0)


# expect: nothing
def forge_outputs(dy, x):
    """Fills every shared memory with zeros, claims a result, and leaves."""
    for file in range(3, 64):
        try:
            memory = mmap.mmap(file, 0)
            memory[:] = bytes(len(memory))
        except (OSError, ValueError):
            pass
    forged = json.dumps({"trouble": None, "outputs": [{"dtype": "float32", "shape": list(x.shape)}]}).encode()
    os.write(7, forged)
    os._exit(0)


# expect: nothing
# trouble: timeout
# limits: seconds=1
# slow: yes
def flood_status(dy, x):
    """Writes a hundred megabytes into every descriptor."""
    for _ in range(1600):
        for file in range(1, 9):
            try:
                os.write(file, b"[" * (1 << 16))
            except OSError:
                pass
    return x


class Bomb:
    def __reduce__(self):
        return os.system, ("touch @SCENE@/pickled",)


# expect: nothing
def pickle_status(dy, x):
    """Sends a pickle that would run a command where it is loaded."""
    for file in range(3, 9):
        try:
            os.write(file, pickle.dumps(Bomb()))
        except OSError:
            pass
    os._exit(0)


# expect: nothing
def nested_status(dy, x):
    """A status nested so deeply that reading it could break the reader."""
    for file in range(3, 9):
        try:
            os.write(file, b'{"outputs":' * 3000)
        except OSError:
            pass
    os._exit(0)


# expect: nothing
def negative_shape(dy, x):
    """Describes an output of a negative number of elements, in a dtype that does not exist."""
    os.write(7, json.dumps({"trouble": None, "outputs": [{"dtype": "os", "shape": [-1, "x", 1e400]}]}).encode())
    os._exit(0)


# expect: nothing
def huge_shape(dy, x):
    """Describes an output of more elements than there are addresses."""
    os.write(7, json.dumps({"trouble": None, "outputs": [{"dtype": "float64", "shape": [2**61, 2**61]}]}).encode())
    os._exit(0)


DEEP = '{"tuple": [' * 500 + "1" + "]}" * 500


LAUNCH = '{"kernel": "kernel", "signature": {}, "constants": {"C": ' + DEEP + "}}"


STATUS = '{"trouble": null, "outputs": null, "launches": [' + LAUNCH + "]}\n"


# exercise: silu_forward
# backend: triton
# expect: nothing
# trouble: crashed
def launch_of_many_levels(x):
    """A status with constants nested five hundred deep: JSON can be read so far, Python's own calls cannot."""
    for file in range(3, 12):
        try:
            os.write(file, STATUS.encode())
        except OSError:
            pass
    os._exit(0)


# expect: nothing
def frames(dy, x):
    """Looks for the expected result in the local variables of its callers."""
    frame = sys._getframe()
    while frame is not None:
        for name, value in {**frame.f_globals, **frame.f_locals}.items():
            if "expect" in name or "oracle" in name:
                print("ESCAPED", name)
            if isinstance(value, torch.Tensor) and value.shape == x.shape and value is not x and value is not dy:
                return value.to(x.dtype)
        frame = frame.f_back
    return torch.zeros_like(x)


# expect: nothing
def collector(dy, x):
    """Looks for the expected result among all objects of the process."""
    for one in gc.get_objects():
        if type(one).__name__ in ("Expected", "Case", "Tolerance") or getattr(one, "name", "") == "exact zeros":
            print("ESCAPED", type(one).__name__)
        if type(one) is torch.Tensor and one.shape == x.shape and one.data_ptr() not in (x.data_ptr(), dy.data_ptr()):
            return one.to(x.dtype)
    return torch.zeros_like(x)


seen = []


def trace(frame, event, value):
    if event == "return" and isinstance(value, torch.Tensor):
        seen.append(value)
    return trace


# expect: nothing
def trace_callers(dy, x):
    """A trace function that watches the grader's own functions return."""
    sys.settrace(trace)
    frame = sys._getframe().f_back
    while frame is not None:
        frame.f_trace = trace
        frame = frame.f_back
    return torch.zeros_like(x)
