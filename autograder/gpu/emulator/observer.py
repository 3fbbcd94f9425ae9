"""Says who watches the launches of an emulator: what it is told, and what it may ask for."""

import contextlib
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from .findings import EmulatorError, Finding, Place
from .footprint import ConcurrentLaunch, Footprint, Kept
from .launch import Launch

Fill = Callable[[Place], float]  # what masked-off lanes hold, by the line of the load


class LaunchCall(NamedTuple):
    """A launch as it was called: the interpreter's `GridExecutor`, arguments by position, and by name."""

    executor: Any
    args: tuple[Any, ...]
    options: dict[str, Any]


class Byte(NamedTuple):
    """A byte of the storage at an address."""

    address: int
    number: int


class Touch(NamedTuple):
    """An access to a byte: whether it reads, as an atomic does, its line, and the program, by number."""

    reads: bool
    place: Place
    program: int


@dataclass
class RepeatedPrograms:
    """Holds what the programs did. kept: what the storages held that they have stored to, by address. touches: accesses
    to the byte that was asked for, in order. filled: by line, the integers that masked-off lanes were filled with; None
    among them where floats were.
    """

    well: bool = True
    kept: dict[int, Kept] = field(default_factory=dict)
    masked_off: dict[Place, np.ndarray] = field(default_factory=dict)
    touches: list[Touch] = field(default_factory=list)
    filled: dict[Place, set[int | None]] = field(default_factory=dict)


class Again(Protocol):
    """Runs some programs of a launch once more."""

    def __call__(
        self, programs: np.ndarray, fill: float | Fill = 0.0, byte: Byte | None = None
    ) -> contextlib.AbstractContextManager[RepeatedPrograms]:
        """A block in which these programs, by number, have run in this order, with ``fill`` in masked-off lanes without
        ``other``. What they stored is there in the block alone. byte: one of which every access is noted.
        """


@dataclass(frozen=True)
class EndedLaunch:
    """A launch that has ended. footprint: its tensors, and what the storages held that it stored to. masked_off: the
    lines of loads with masked-off lanes and no ``other``, and which programs had them. error: what stopped it, if it
    did not run to its end.

    again: runs programs of it once more. storers: by byte of a block (`Kept`) of a storage, given by address and
    number, the number of the program that stored it, 0 where none did. first_stored: a flag for each element of the
    storages, by address, that began uninitialised, set where this launch was the first to store; types of one byte,
    whose patterns are ordinary values, are left out. unwrite: has these elements be uninitialised again.
    """

    launch: Launch
    call: LaunchCall
    footprint: Footprint
    masked_off: dict[Place, np.ndarray]
    error: BaseException | None
    again: Again
    storers: Callable[[int, int], np.ndarray]
    first_stored: Callable[[], dict[int, np.ndarray]]
    unwrite: Callable[[], None]


class ObservedMachine(Protocol):
    """Holds what an observer may ask of the emulator that it watches. configuration: of an autotuned kernel, that is
    running; "" outside of that.
    """

    configuration: str

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches so far, in order."""

    def refusal(self, finding: Finding) -> EmulatorError:
        """The error of a launch that Triton's compiler refuses, which is one of Triton's, too."""

    def check_options(self, kernel: types.FunctionType, options: Mapping[str, Any]) -> None:
        """Refuses options that Triton's compiler refuses of a kernel. Raises EmulatorError."""

    def record(self, error: EmulatorError) -> None:
        """Adds the finding of an error to what was found."""

    def forget_findings(self) -> None:
        """Begins a new part: what was found and launched so far is no longer told or looked at."""

    def never_called(self, functions: Iterable[types.FunctionType]) -> list[dict[str, Any]]:
        """Those of these functions of which nothing was reached, as `Observer.reached` is told of them."""


class Observer:
    """Is told what happens to the launches of an emulator; a method that is not overridden changes nothing.

    emulator: the one that it watches (`Observed`), which says so when it is made.
    """

    emulator: ObservedMachine

    def launch_asked(self, call: LaunchCall) -> LaunchCall:
        """The launch to run in place of the one that was called. What it raises, the launch raises."""
        return call

    def judges(self, call: LaunchCall) -> bool:
        """Returns whether what the launch reaches of its kernel counts."""
        return True

    def launch_begins(self, launch: Launch) -> None:
        """A launch begins."""

    def unordered(self) -> bool:
        """Returns whether later launches may not be ordered after the present one."""
        return False

    def beside(self, launch: Launch, numbers: range) -> list[ConcurrentLaunch]:
        """The earlier launches that nothing orders before this one. numbers: of its programs."""
        return []

    def launch_ended(self, ended: EndedLaunch) -> None:
        """A launch has ended, and may be run again. What it keeps of ``ended`` may be large; what it raises, a launch
        that ran to its end raises.
        """

    def found(self, finding: Finding) -> None:
        """Something was found or is suspicious, for the first time or once more."""

    def passes(self, finding: Finding) -> bool:
        """Returns whether a launch goes on behind an access out of bounds (`tolerant.Tolerant`)."""
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
