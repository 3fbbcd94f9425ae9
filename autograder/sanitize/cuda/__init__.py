"""A stand-in for CUDA on a machine without it: a program that asks for a GPU runs, on the CPU's memory.

Tensors are the CPU's; a mark on their storage says which of them are on the simulated GPU (`places`).
`calls` answers what PyTorch asks about devices, `runtime` is `torch.cuda`, `driver` Triton's driver. Times mean
nothing, and arithmetic outside of Triton is the CPU's.
"""

from .places import reachable
from .shim import shimmed

__all__ = ["reachable", "shimmed"]
