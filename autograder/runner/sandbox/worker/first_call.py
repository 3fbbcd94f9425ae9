"""A first call that imports everything a call uses, so that no child has to."""

import importlib

import torch

from ...call.answer import Answer, Cell
from ...call.contract import Contract
from ...call.runner import InProcess
from .child import Recorded
from .recorder import Recorder

# Those of Python's modules with libraries of their own that PyTorch does not import: a child can load no library.
_WITH_LIBRARIES = ("cProfile", "csv", "numpy.fft", "queue", "resource", "termios", "xml.etree.ElementTree", "zoneinfo")
_KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, tl.exp(x) / tl.sum(tl.where(x > 0, x, 1.0)), mask=mask)


def double(x):
    y = torch.empty_like(x)
    double_kernel[(2,)](x, y, x.numel(), BLOCK=64)
    return y
"""


def make() -> None:
    """Raises RuntimeError if the machine cannot run even a simple kernel: no answer would work either."""
    for name in _WITH_LIBRARIES:
        importlib.import_module(name)
    contract = Contract("double", ("x",), ("y",), 1)
    function = Answer("double", (Cell("warm", _KERNEL),)).load()
    outcome = InProcess(function, contract, "triton").once((torch.ones(100),), shuffle=1)
    recorder = Recorder(function)
    Recorded(recorder, contract, "triton").once((torch.ones(100),))
    if outcome.trouble or outcome.findings or recorder.plan is None:
        raise RuntimeError(f"a first kernel does not run: {outcome.trouble or outcome.findings or recorder.reason}")
