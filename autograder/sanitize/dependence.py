"""Whether what a launch stores depends on lanes that a GPU promises nothing about: run it again with other values.

Poisoned lanes alone would not show it: `tl.max` drops a NaN, and a kernel whose padding goes nowhere is right.
"""

import numpy as np
import torch
from triton.runtime import interpreter

from ..emulator import Emulator, EmulatorError, Finding
from ..emulator.findings import Place, here
from ..emulator.launch import execute
from ..emulator.poison import memory

_MOST = 1 << 28  # bytes of a launch's tensors that are copied to run it again
_TRIES = 3  # launches of a kernel that are run again
_VALUES = (1e4, -1e4)  # a number that no neutral element is: it shows in sums and in a maximum or a minimum


class _Again(Emulator):
    """A launch that only its stores are asked of."""


class _At(Emulator):
    """The same, one program at a time: ``value`` in the lanes of loads at ``places``, 0 in those at others.

    loads: places of loads with masked-off lanes and no ``other``.
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
        pass  # asked for by load

    def note_undefined(self, kernel, region) -> None:
        super().note_undefined(kernel, region)
        self.loads.setdefault(here())


class Dependence:
    """Runs the launches of a `Sanitizer`. ``tried``: how often each kernel was run again."""

    def __init__(self, sanitizer):
        self.sanitizer = sanitizer
        self.tried: dict = {}

    def launch(self, executor, args: tuple, options: dict) -> None:
        sanitizer, kernel = self.sanitizer, executor.fn
        before = _copies([*args, *options.values()]) if self.tried.get(kernel, 0) < _TRIES else None
        sanitizer.undefined = False
        execute(sanitizer, executor, args, options)
        if before is None or not sanitizer.undefined:
            return
        self.tried[kernel] = self.tried.get(kernel, 0) + 1
        after = {address: (raw, raw.copy()) for address, (raw, _) in before.items()}
        state = before, after, executor, args, options
        value = next((value for value in _VALUES if self._differs(_Again(fill=value), *state)), None)
        if value is not None:
            self.tried[kernel] = _TRIES
            for place in self._guilty(value, state):
                sanitizer.say(_finding(kernel.__name__, place))

    def _guilty(self, value: float, state: tuple) -> list[Place]:
        """Loads whose lanes matter by themselves; where none does, as in a product of two, those that have to."""
        everywhere = _At(value)
        self._differs(everywhere, *state)
        places = list(everywhere.loads)
        if len(places) < 2:
            return places
        alone = [place for place in places if self._differs(_At(value, {place}), *state)]
        return (
            alone or [place for place in places if not self._differs(_At(value, {*places} - {place}), *state)] or places
        )

    def _differs(self, again, before, after, executor, args, options) -> bool:
        """Run the launch from its first state and put the second back. Whether other bits were stored, or it failed."""
        builder, sanitizer = interpreter.interpreter_builder, self.sanitizer
        for raw, copy in before.values():
            raw[:] = copy
        builder.emulator, sanitizer.launching = again, True
        try:
            execute(again, executor, args, options)
            return any((raw != copy).any() for raw, copy in after.values())
        except EmulatorError:
            return True
        finally:
            builder.emulator, sanitizer.launching = sanitizer, False
            for raw, copy in after.values():
                raw[:] = copy


def _copies(arguments: list) -> dict[int, tuple[np.ndarray, np.ndarray]] | None:
    """``(memory, copy)`` of every storage by its address; None where they are too large, or not in this memory."""
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


def _tensors(values):
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
