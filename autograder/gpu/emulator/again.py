"""A launch that runs again, in an emulator of its own, and leaves no trace."""

import contextlib
import copy
import io
from collections.abc import Callable, Iterator

import numpy as np
from triton.runtime import interpreter

from .access import Access
from .address_space import Region
from .emulator import Emulator
from .execution import execute
from .findings import EmulatorError, current_place
from .observer import Byte, Fill, LaunchCall, RepeatedPrograms, Touch
from .order import Order
from .shadow import Clash, Shadow


@contextlib.contextmanager
def again(
    emulator: Emulator, call: LaunchCall, programs: np.ndarray, fill: float | Fill = 0.0, byte: Byte | None = None
) -> Iterator[RepeatedPrograms]:
    """Runs some programs of a launch once more, in this order, with ``fill`` in masked-off lanes without ``other``; no
    hook of the kernel runs, and what they reach does not count. What they stored is there in the block alone.
    byte: one of which every access is noted.
    """
    repeated = RepeatedPrograms()
    other = _Again(repeated, programs, fill, byte)
    builder, executor, other.passes = interpreter.interpreter_builder, copy.copy(call.executor), emulator.passes
    executor.pre_run_hooks = ()  # they ran before the launch, and what it kept is from behind them
    builder.emulator, emulator.launching = other, True
    try:
        with contextlib.redirect_stdout(io.StringIO()), _unwatched(emulator):
            execute(other, executor, call.args, call.options)
    except EmulatorError:
        repeated.well = False
    finally:
        builder.emulator, emulator.launching = emulator, False
    repeated.masked_off = other.masked_off
    try:
        yield repeated
    finally:
        for kept in repeated.kept.values():
            kept.put_back()


def _unwatched(emulator: Emulator) -> contextlib.AbstractContextManager[None]:
    return emulator.coverage.paused() if emulator.coverage else contextlib.nullcontext()


class _Again(Emulator):
    def __init__(self, repeated: RepeatedPrograms, programs: np.ndarray, fill: float | Fill, byte: Byte | None):
        self._repeated, self._programs, self._fill, self._byte = repeated, programs, fill, byte
        super().__init__()
        self.keeps, self.together = True, byte is None

    @property
    def fill(self) -> float:
        return self._fill(current_place()) if callable(self._fill) else self._fill

    @fill.setter
    def fill(self, value: float | None) -> None:
        pass  # it may depend on the load

    def note_filled(self, number: int | None) -> None:
        self._repeated.filled.setdefault(current_place(), set()).add(number)

    def order(self, programs: int) -> np.ndarray:
        return self._programs

    def end(self, access: Access) -> None:
        super().end(access)
        self._repeated.kept = access.kept

    def shadow(self, region: Region) -> Shadow:
        if self._byte is None or region.address != self._byte.address:
            return super().shadow(region)
        known = self._shadows.get(region.address)
        if not isinstance(known, _Watching) or known.unit > region.itemsize:
            self._shadows[region.address] = _Watching(region, self._byte.number, self._touched)
        return self._shadows[region.address]

    def _touched(self, reads: bool, number: int) -> None:
        self._repeated.touches.append(Touch(reads, current_place(), number - self.access.first - 1))


class _Watching(Shadow):
    """Calls ``note`` at each access to the unit of a byte: whether it reads, and the program's number."""

    def __init__(self, region: Region, byte: int, note: Callable[[bool, int], None]):
        super().__init__(region.address, region.held, region.itemsize)
        self._watched, self._note = byte // region.itemsize, note

    def read(self, at: np.ndarray, program: int, first: int, order: Order) -> Clash | None:
        if (at == self._watched).any():
            self._note(True, program)
        return super().read(at, program, first, order)

    def store(
        self,
        at: np.ndarray,
        changed: np.ndarray,
        program: int,
        first: int,
        order: Order,
        atomic: bool,
        reads: bool = False,
    ) -> Clash | None:
        if (at == self._watched).any():
            self._note(atomic or reads, program)
        return super().store(at, changed, program, first, order, atomic, reads)
