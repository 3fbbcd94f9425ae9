"""The role "answering": the worker imports PyTorch and Triton, and its children call answers."""

from typing import Any

import torch

from . import child, first_call, native_code
from .blocked_operators import BlockedOperators
from .composed_functions import ComposedFunctions

_prepared: list[tuple[BlockedOperators, ComposedFunctions]] = []


def prepare() -> None:
    """Does once, before any child is forked, what all of them need."""
    torch.set_num_threads(1)  # a child hangs on its first operator if its parent had a thread pool
    first_call.make()
    _prepared.append((BlockedOperators(), ComposedFunctions()))
    native_code.prepare()


def importing() -> None:
    """Called before the worker imports more modules, which may call what was replaced."""
    _prepared[0][1].open()


def imported() -> None:
    """Called after that: they may have registered operators."""
    _prepared[0][0].close()


def forking(basic: bool) -> None:
    """Called before each child is forked. basic: whether it may not call what PyTorch composes of several operators."""
    if basic:
        _prepared[0][1].close()


def run(job: dict[str, Any], inputs: int, outputs: int, status: int, go: int) -> None:
    """See `child.run`."""
    child.run(job, inputs, outputs, status, go, *_prepared.pop())
