"""Who watches the launches of an emulator: what it is told, and what it is asked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .access import Access
from .findings import Finding, Place
from .launch import Launch


class Call(NamedTuple):
    """A launch as it was called: the interpreter's `GridExecutor`, arguments by position, and by name."""

    executor: Any
    args: tuple[Any, ...]
    options: dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """A launch that has ended. access: its tensors, and what the storages held that it stored to. masked_off: the
    lines of loads with masked-off lanes and no ``other``, and which programs had them. error: what stopped it, if it
    did not run to its end.
    """

    launch: Launch
    call: Call
    access: Access
    masked_off: dict[Place, np.ndarray]
    error: BaseException | None


class Observer:
    """Is told what happens to the launches of an `Emulator`; a method that is not overridden changes nothing."""

    def launch_asked(self, call: Call) -> Call:
        """The launch to run in place of the one that was called. What it raises, the launch raises."""
        return call

    def judges(self, call: Call) -> bool:
        """Whether what the launch reaches of its kernel counts."""
        return True

    def launch_begins(self, launch: Launch) -> None:
        """A launch begins."""

    def launch_ended(self, ended: Ended) -> None:
        """A launch has ended, and may be run `again`. What it keeps of ``ended`` may be large."""

    def found(self, finding: Finding) -> None:
        """Something was found or is suspicious, for the first time or once more."""

    def passes(self, finding: Finding) -> bool:
        """Whether a launch goes on behind an access out of bounds (`tolerant.Tolerant`)."""
        return False

    def reached(self, functions: list[dict[str, Any]]) -> None:
        """A launch has reached more of these functions, as `Coverage.news` has them."""

    def try_configuration(self, run: Callable[[], Any], twice: bool) -> bool:
        """Has to run a configuration of an autotuner, with its hooks. Returns whether it ran twice, as it may where
        ``twice`` is set.
        """
        run()
        return False

    def left_out(self, kernel: str) -> None:
        """A configuration is not run: one that was differs from it in the compiler's options alone."""

    def forgotten(self, address: int) -> None:
        """The storage at this address is gone."""
