"""A stand-in for CUDA on a machine without it: a program that asks for a GPU runs, on the CPU's memory.

Tensors are the CPU's; a mark on their storage says which of them are on the simulated GPU (`placement`).
`torch_functions` answers what calls of PyTorch ask about devices, `runtime` is `torch.cuda`, `driver` Triton's driver.
Times mean nothing, and arithmetic outside Triton is the CPU's.
"""

from typing import TYPE_CHECKING

from ...words import lazy_api

if TYPE_CHECKING:
    from .placement import assert_reachable
    from .shim import shimmed

__all__ = ["assert_reachable", "shimmed"]

__getattr__ = lazy_api(__name__, __file__)
