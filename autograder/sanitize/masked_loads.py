"""Finds masked loads without ``other`` on which a launch's results depend: runs it again with other values there.

Poisoned lanes alone would not show it: `tl.max` drops a NaN, and a kernel whose padding goes nowhere is right.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from triton.runtime import interpreter

from ..emulator import Emulator, EmulatorError, Finding
from ..emulator.findings import Place, here
from ..emulator.launch import execute
from ..emulator.memory import Region
from ..emulator.poison import memory

_MOST = 1 << 28  # bytes of a launch's tensors that are copied to run it again
_TRIES = 3  # launches of a kernel that are run again
_VALUES = (1e4, -1e4)  # not a neutral element: one of them shows in a sum, a maximum or a minimum
_Copies = dict[int, tuple[np.ndarray, np.ndarray]]  # a storage's memory and a copy of it, by address


class _FillAt(Emulator):
    """Runs one program at a time with ``value`` in the masked-off lanes of loads at ``places``, and 0 in all others.

    loads: the places of loads with masked-off lanes and no ``other``.
    """

    together = False

    def __init__(self, value: float, places: set[Place] | None = None):
        self.value, self.places = value, places
        self.loads: dict[Place, None] = {}
        super().__init__()

    @property
    def fill(self) -> float:
        return self.value if self.places is None or here() in self.places else 0.0

    @fill.setter
    def fill(self, value: float | None) -> None:
        pass  # it depends on the load

    def note_undefined(self, kernel: str, region: Region | None) -> None:
        super().note_undefined(kernel, region)
        self.loads.setdefault(here())


class _Launch(NamedTuple):
    """A launch that can run again. before, after: what its tensors held when it began and when it had ended."""

    before: _Copies
    after: _Copies
    executor: Any
    args: tuple[Any, ...]
    options: dict[str, Any]


class MaskedLoads:
    """Runs launches under ``emulator``, and calls ``say`` with findings. tried: how often each kernel ran again."""

    def __init__(self, emulator: Emulator, say: Callable[[Finding], None]):
        self.emulator, self.say = emulator, say
        self.tried: dict[Any, int] = {}

    def launch(self, executor: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Runs a launch, and reports each load whose masked-off lanes decide what it stores."""
        kernel = executor.fn
        before = _copies([*args, *options.values()]) if self.tried.get(kernel, 0) < _TRIES else None
        self.emulator.undefined = False
        execute(self.emulator, executor, args, options)
        if before is None or not self.emulator.undefined:
            return
        self.tried[kernel] = self.tried.get(kernel, 0) + 1
        after = {address: (raw, raw.copy()) for address, (raw, _) in before.items()}
        launch = _Launch(before, after, executor, args, options)
        value = next((value for value in _VALUES if self._differs(Emulator(fill=value), launch)), None)
        if value is not None:
            self.tried[kernel] = _TRIES
            for place in self._guilty(value, launch):
                self.say(_finding(kernel.__name__, place))

    def _guilty(self, value: float, launch: _Launch) -> list[Place]:
        """The loads whose lanes matter alone; where none does, as in a product of two, those that are needed for it."""
        everywhere = _FillAt(value)
        self._differs(everywhere, launch)
        places = list(everywhere.loads)
        if len(places) < 2:
            return places
        alone = [place for place in places if self._differs(_FillAt(value, {place}), launch)]
        needed = (place for place in places if not self._differs(_FillAt(value, {*places} - {place}), launch))
        return alone or list(needed) or places

    def _differs(self, emulator: Emulator, launch: _Launch) -> bool:
        """Runs the launch once more, then restores its results. Whether other bits were stored, or it failed."""
        builder = interpreter.interpreter_builder
        for raw, copy in launch.before.values():
            raw[:] = copy
        builder.emulator, self.emulator.launching = emulator, True
        try:
            execute(emulator, launch.executor, launch.args, launch.options)
            return any((raw != copy).any() for raw, copy in launch.after.values())
        except EmulatorError:
            return True
        finally:
            builder.emulator, self.emulator.launching = self.emulator, False
            for raw, copy in launch.after.values():
                raw[:] = copy


def _copies(arguments: list[Any]) -> _Copies | None:
    """The memory of the tensors and copies of it; None where it is too large, or not this machine's."""
    storages = {}
    for tensor in _tensors(arguments):
        if tensor.device.type != "cpu":
            return None
        storage = tensor.untyped_storage()
        if storage.nbytes():
            storages[storage.data_ptr()] = storage
    if sum(storage.nbytes() for storage in storages.values()) > _MOST:
        return None
    raw = {address: memory(address, storage.nbytes()) for address, storage in storages.items()}
    return {address: (bytes_, bytes_.copy()) for address, bytes_ in raw.items()}


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        value = getattr(value, "base", value)  # of a descriptor, or a tensor reinterpreted as another type
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, tuple | list):
            yield from _tensors(value)


def _finding(kernel: str, place: Place) -> Finding:
    text = (
        f"What `{kernel}` stores depends on masked-off lanes of a load without `other`, {place}: with other values in "
        "these lanes it stores other values. Today's NVIDIA backends fill in 0; Triton promises nothing. Add `other=` "
        "with the neutral element of what follows."
    )
    return Finding("masked-load", text, kernel, line=place.line, source=place.source, file=place.file)
