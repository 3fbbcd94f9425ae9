"""What a worker of answers does: it imports PyTorch and Triton, and its children call answers."""

import torch

from . import child, warm
from .closed import Closures

_prepared: list[Closures] = []


def prepare() -> None:
    torch.set_num_threads(1)  # a child hangs on its first operator if its parent had a thread pool
    warm.up()
    _prepared.append(Closures())


def imported() -> None:
    """Called after the worker has imported more modules, which may have registered operators that are still open."""
    _prepared[0].close()


def run(job: dict, inputs: int, outputs: int, status: int, go: int) -> None:
    """See `child.run`."""
    child.run(job, inputs, outputs, status, go, _prepared.pop())
