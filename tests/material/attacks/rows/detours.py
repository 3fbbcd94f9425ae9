# kind: detour
# exercise: silu_forward
# backend: triton
"""What computes `y` beside a kernel that is launched for show, and only copies."""

import ctypes
import math

import numpy
import torch
from torch.utils._python_dispatch import _disable_current_modes


# expect: nothing
# trouble: refused
def torch_beside_kernel(x, y):
    """Launches a kernel for show and computes with PyTorch."""
    return x * torch.sigmoid(x)


# expect: nothing
def modes_disabled(x, y):
    """Launches a kernel for show, switches the watch off and computes with PyTorch."""
    with _disable_current_modes():
        return (x.float() * torch.sigmoid(x.float())).to(x.dtype)


# expect: nothing
def modes_disabled_into_output(x, y):
    """The same, written into the tensor that the kernel wrote."""
    with _disable_current_modes():
        y.copy_(x.float() * torch.sigmoid(x.float()))
    return y


# expect: nothing
def numpy_detour(x, y):
    """Computes with NumPy, and copies into the output."""
    v = x.cpu().numpy().astype("float64")
    y.copy_(torch.from_numpy(v / (1 + numpy.exp(-v))))
    return y


# expect: nothing
def memory_detour(x, y):
    """Computes in Python, and writes into the output's memory by its address."""
    if x.dtype == torch.float32 and x.numel():
        source = (ctypes.c_float * x.numel()).from_address(x.data_ptr())
        target = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
        for i, v in enumerate(source):
            target[i] = v / (1 + math.exp(-v))
    return y


# expect: nothing
# slow: yes
def fill_each_element(x, y):
    """Computes in Python, and hands the results over as constants, one allowed fill for each element."""
    flat = y.view(-1)
    for i, v in enumerate(x.cpu().numpy().reshape(-1)[:2000]):
        flat[i].fill_(v / (1 + math.exp(-float(v))))
    return y
