"""A planted bug, and the list of them."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

BUGS: list["Bug"] = []


@dataclass(frozen=True)
class Bug:
    """run: launches the kernel on honest inputs, and returns its output and the right one."""

    name: str
    title: str
    kind: str
    says: str
    run: Callable[[], tuple[torch.Tensor, torch.Tensor]]


def bug(kind: str, says: str = "") -> Callable[[Callable], Callable]:
    """Registers a function as a bug. kind: the finding that sees it, "wrong-value" where the output tells, "order"
    where the output changes with the order of the programs. says: a pattern in the emulator's sentence.
    """

    def register(run: Callable) -> Callable:
        BUGS.append(Bug(run.__name__, run.__doc__.strip(), kind, says, run))
        return run

    return register
