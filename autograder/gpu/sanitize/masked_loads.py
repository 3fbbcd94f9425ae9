"""Finds masked loads without ``other`` on which a launch's results depend: runs it again with other values there.

Poisoned lanes alone would not show it: `tl.max` drops a NaN, and a kernel whose padding goes nowhere is right.

One launch of each class is tried: same kernel, constants and types (with Triton's own divisibility by 16), same loads
with masked-off lanes, and each size of the same power of two. Of programs that need no order, those with masked-off
lanes run again, at most `_PROGRAMS` for each load: what a try costs does not grow with the grid.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from ..emulator.findings import Finding, Place
from ..emulator.footprint import Footprint
from ..emulator.lane_values import LANE_VALUES
from ..emulator.launch import Argument, Launch
from ..emulator.observer import EndedLaunch, Fill
from .differences import change, differing

_MOST = 1 << 30  # bytes that a launch stores and that are copied to run it again
_PROGRAMS = 64  # with masked-off lanes at one load that run again, first and last of them included


class _Result(NamedTuple):
    """Holds what the programs store when they run once more: blocks by a storage's address and number; None where they
    fail. places: loads with masked-off lanes that they reached. filled: as `RepeatedPrograms` has it.
    """

    blocks: dict[tuple[int, int], np.ndarray] | None
    places: list[Place]
    filled: Mapping[Place, Set[int | None]] = MappingProxyType({})


class _Trial(NamedTuple):
    """A launch whose memory is as it was before, and programs of it that run again. zeros: their result with 0 in the
    masked-off lanes.
    """

    ended: EndedLaunch
    programs: np.ndarray
    zeros: _Result = _Result(None, [])


class MaskedLoads:
    """Runs launches again. Calls ``say`` with findings, and ``untried`` with a kernel's name and why one of its
    launches was not tried.
    """

    def __init__(self, say: Callable[[Finding], None], untried: Callable[[str, str], None]):
        self.say, self.untried = say, untried
        self._tried: dict[Hashable, list[Finding]] = {}  # what was found, by class

    def launched(self, ended: EndedLaunch) -> None:
        """Reports each load of a launch whose masked-off lanes decide what it stores."""
        if not ended.masked_off:
            return
        key = _class(ended.launch, ended.masked_off)
        if key not in self._tried:
            footprint, call = ended.footprint, ended.call
            if why := _obstacle(footprint, [*call.args, *call.options.values()]):
                self.untried(ended.launch.name, why)
                return
            self._tried[key] = self._try(_Trial(ended, _programs(footprint, ended.masked_off)))
        for finding in self._tried[key]:
            self.say(finding)

    def _try(self, trial: _Trial) -> list[Finding]:
        """Runs a launch again with each value, and leaves its results as they are."""
        kept = trial.ended.footprint.kept.values()
        after = [(memory, {number: memory.now(number).copy() for number in memory.blocks}) for memory in kept]
        for memory in kept:
            memory.put_back()
        try:
            effects = self._found(trial._replace(zeros=self._result(0.0, trial)))
        finally:
            for memory, blocks in after:
                for number, block in blocks.items():
                    memory.now(number)[:] = block
        return [_finding(trial.ended.footprint.kernel, place, effect) for place, effect in effects.items()]

    def _found(self, trial: _Trial) -> dict[Place, str]:
        """The loads whose lanes matter, each with a sentence that says what they do."""
        effects: dict[Place, str] = {}
        for name, value in LANE_VALUES.items():
            everywhere = self._result(value, trial) if value else trial.zeros
            if effect := _difference(everywhere, trial):
                more = self._loads(value, trial, effect, everywhere.places, effects.keys())
                lanes = {place: _contents(name, everywhere.filled.get(place, {None})) for place in more}
                effects |= {place: f"With {lanes[place]} in them {text}." for place, text in more.items()}
        return effects

    def _loads(
        self, value: float, trial: _Trial, effect: str, places: list[Place], known: Set[Place]
    ) -> dict[Place, str]:
        """The loads, beside those known to matter, whose lanes matter alone, each with what ``value`` does there; where
        none of all does, as in a product of two, those that are needed for the ``effect`` of all.
        """
        if len(places) < 2:
            return {place: effect for place in places if place not in known}

        def alone(place: Place) -> str:
            return self._effect(_at({place}, value), trial)

        new = {place: text for place in places if place not in known and (text := alone(place))}
        if new or any(map(alone, known)):
            return new
        without = ((place, self._effect(_at({*places} - {place}, value), trial)) for place in places)
        needed = {place: effect for place, rest in without if not rest}
        return {place: text for place, text in (needed or dict.fromkeys(places, effect)).items() if place not in known}

    def _effect(self, fill: Fill, trial: _Trial) -> str:
        return _difference(self._result(fill, trial), trial)

    def _result(self, fill: float | Fill, trial: _Trial) -> _Result:
        with trial.ended.again(trial.programs, fill) as run:
            blocks = {(at, n): old.now(n).copy() for at, old in run.kept.items() for n in old.blocks}
            return _Result(blocks if run.well else None, [*run.masked_off], run.filled)


def _contents(name: str, filled: Set[int | None]) -> str:
    """The words for what lanes hold: no integer is NaN. name: that of the value in floats."""
    return " or ".join(name if number is None else f"{number:,}" for number in filled)


def _at(places: set[Place], value: float) -> Fill:
    """``value`` in the masked-off lanes of loads at ``places``, and 0 in all others."""
    return lambda place: value if place in places else 0.0


def _difference(result: _Result, trial: _Trial) -> str:
    """Returns what differs from the result with zeros, as the end of a sentence; "" where nothing does."""
    blocks, zeros, footprint = result.blocks, trial.zeros.blocks, trial.ended.footprint
    if blocks is None or zeros is None:
        return "" if blocks is zeros else "the launch fails"
    for address, number in sorted(blocks.keys() | zeros.keys()):
        before = footprint.kept[address].now(number) if address in footprint.kept else None
        old, new = zeros.get((address, number), before), blocks.get((address, number), before)
        if old is None or new is None:
            return "it stores to another tensor"
        if differing(footprint, address, number, old, new).any():
            return change(footprint, address, number, old, new)
    return ""


def _obstacle(footprint: Footprint, arguments: list[Any]) -> str:
    """Why a launch cannot run again, "" where it can."""
    if any(tensor.device.type != "cpu" for tensor in _tensors(arguments)):
        return "its tensors are in a device's memory"
    if sum(kept.nbytes for kept in footprint.kept.values()) > _MOST:
        return f"it stores more than {_MOST >> 30} GiB"
    return ""


def _programs(footprint: Footprint, places: dict[Place, np.ndarray]) -> np.ndarray:
    """The programs to run again: a launch whose programs wait for each other needs all."""
    if footprint.ordered:
        return np.arange(math.prod(footprint.grid))
    some = [np.flatnonzero(masked) for masked in places.values()]
    spread = [np.linspace(0, programs.size - 1, min(programs.size, _PROGRAMS)).astype(np.int64) for programs in some]
    return np.unique(np.concatenate([programs[at] for programs, at in zip(some, spread, strict=True)]))


def _class(launch: Launch, places: Iterable[Place]) -> Hashable:
    """Returns what launches have in common of which one is tried."""
    traits = tuple(_trait(argument) for argument in launch.arguments)
    return launch.kernel, traits, tuple(size.bit_length() for size in launch.grid), frozenset(places)


def _trait(argument: Argument) -> Hashable:
    about = argument.type, argument.divisible
    if argument.kind == "tensor":
        return about, _size(argument.shape)
    return about, repr(argument.value) if argument.kind == "constexpr" else _size(argument.value)


def _size(value: Any) -> Hashable:
    """Sizes by their power of two, 1 by itself; of a tensor its type, too."""
    if isinstance(value, int):
        return value == 1, value < 0, value.bit_length()
    if isinstance(value, tuple | list):
        return tuple(map(_size, value))
    if isinstance(value, TensorDescriptor):
        return _size(value.base), tuple(value.block_shape)
    if hasattr(value, "data_ptr"):
        return str(value.dtype), _size(tuple(value.shape))
    return type(value).__name__


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        value = getattr(value, "base", value)  # of a descriptor, or a tensor reinterpreted as another type
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, tuple | list):
            yield from _tensors(value)


def _finding(kernel: str, place: Place, effect: str) -> Finding:
    lanes, add = "masked-off lanes of a load without `other`", "`other=` with the neutral element of what follows"
    if place.of_block_pointer:
        lanes, add = "what a block pointer has no `padding_option` for, outside of its shape", '`padding_option="zero"`'
    text = (
        f"What `{kernel}` stores depends on {lanes}, {place}. {effect} Today's NVIDIA backends fill in 0; Triton "
        f"promises nothing. Add {add}."
    )
    return Finding("masked-load", text, kernel, line=place.line, source=place.source, file=place.file)
