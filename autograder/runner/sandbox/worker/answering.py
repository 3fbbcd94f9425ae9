"""The role "answering": the worker imports PyTorch and Triton, and its children call answers."""

from typing import Any

import torch

from . import child, first_call, native_code
from .blocked_operators import BlockedOperators

_prepared: list[BlockedOperators] = []


def prepare() -> None:
    """Does once, before any child is forked, what all of them need."""
    torch.set_num_threads(1)  # a child hangs on its first operator if its parent had a thread pool
    first_call.make()
    _prepared.append(BlockedOperators())
    native_code.prepare()


def imported() -> None:
    """Called after the worker has imported more modules, which may have registered operators."""
    _prepared[0].close()


def run(job: dict[str, Any], inputs: int, outputs: int, status: int, go: int) -> None:
    """See `child.run`."""
    child.run(job, inputs, outputs, status, go, _prepared.pop())
