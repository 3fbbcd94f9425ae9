"""A launch on the same bits as an earlier one, replayed: what the earlier one stored is stored again.

The second call of a check asks two things: whether the answer keeps something from call to call, and whether the order
of the programs matters. A launch that ran in passes without a `Fallback` has proven that it does not: no program reads
or stores what another stores. Where its kernel, grid, arguments, every byte of the storages it may reach and every
name it looks up are what they were, its result is what it was, in any order. Launches with atomics, whose sums do
depend on the order, and kernels that use anything but Triton's language, constants and other such kernels always run.
"""

import builtins
import dis
import functools
import hashlib
import itertools
import sys
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import triton
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import InterpretedFunction

from .. import rewrite
from ..access import Access
from ..address_space import Region
from .memory import Memory

_MOST_BYTES = 16 << 20  # of the storages of one launch; more take longer to digest than they are worth
_PURE = (
    *(range, len, abs, int, float, bool, tuple, isinstance, rewrite.MINIMUM, rewrite.MAXIMUM),
    interpreter.interpreter_semantic,
)
_LOCAL = {"STORE_FAST", "STORE_DEREF", "DELETE_FAST", "DELETE_DEREF", "STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST"}
_FOLDERS = tuple(str(Path(file).parent) for file in (triton.__file__, rewrite.__file__))


class Impure(Exception):
    """A launch may depend on more than can be compared."""


@dataclass(frozen=True)
class Effect:
    """Holds what a launch left behind. stored: (number of a region of its storage, units, words). traffic: bytes loaded
    and stored, by region. names: what the kernel looked up.
    """

    names: Hashable
    stored: tuple[tuple[int, slice | np.ndarray, np.ndarray], ...]
    traffic: tuple[tuple[int, int], ...]
    looser: frozenset[str]
    printed: str


class Key(NamedTuple):
    """All that a launch depends on, but the names that its kernel looks up."""

    kernel: Any  # its rewritten function
    grid: tuple[int, int, int]
    fill: str
    arguments: Hashable
    memory: Hashable


class Replay:
    """The launches of an answer's first call, for its second. replayed: how many were."""

    def __init__(self) -> None:
        self._effects: dict[Key, Effect] = {}
        self.replayed = 0

    def key(
        self,
        emulator: Any,
        fn: FunctionType,
        arguments: dict[str, Any],
        grid: tuple[int, int, int],
        access: Access,
    ) -> Key | None:
        """All that a launch depends on; None where it is not certain that this is all."""
        try:
            values = tuple(_argument(name, value, access) for name, value in arguments.items())
            return Key(fn, grid, repr(emulator.fill), values, _memory(emulator, access.space.regions))
        except Impure:
            return None

    def find(self, key: Key | None) -> Effect | None:
        """Returns what an earlier launch with this key left behind, if the names in its kernel are what they were."""
        effect = self._effects.get(key) if key else None
        return effect if key and effect and effect.names == names(key.kernel) else None

    def keep(self, key: Key, memory: Memory, looser: set[str], printed: str) -> None:
        """Keeps what a launch that ran in passes left behind. memory: its own."""
        names_read = names(key.kernel)
        space = memory.access.space
        if names_read is not None and not memory.atomics and not space.reached:
            regions = space.regions
            traffic = tuple((region.loaded, region.stored) for region in regions)
            stored = tuple(memory.stored())
            self._effects[key] = Effect(names_read, stored, traffic, frozenset(looser), printed)

    def apply(self, effect: Effect, memory: Memory) -> None:
        """Leaves behind what an earlier launch did. memory: of the present one, which has not run."""
        self.replayed += 1
        regions = memory.access.space.regions
        for number, units, words in effect.stored:
            memory.storage(regions[number]).put(units, words)
        for region, (loaded, stored) in zip(regions, effect.traffic, strict=True):
            region.loaded, region.stored = loaded, stored


def _argument(name: str, value: Any, access: Access) -> Hashable:
    if isinstance(value, tl.tensor):
        region = access.space.find(int(value.handle.data[0])) if value.dtype.is_ptr() else None
        return name, value.type.name, region.number if region else value.handle.data.tobytes()
    if isinstance(value, tuple):
        return name, type(value), tuple(_argument("", part, access) for part in value)
    return name, _value(value, set())


def _memory(emulator: Any, regions: list[Region]) -> Hashable:
    """Returns how the tensors lie, and a digest of every byte of their storages, and of which were written if that
    shows.
    """
    storages = {region.address: region for region in regions}
    if sum(region.held for region in storages.values()) > _MOST_BYTES:
        raise Impure
    starts = sorted(storages)
    if any(start + storages[start].held > later for start, later in itertools.pairwise(starts)):
        raise Impure  # two storages in one memory
    places, digest = {start: number for number, start in enumerate(storages)}, hashlib.blake2b()
    for region in storages.values():
        for part in emulator.contents(region):
            digest.update(part)
    views = tuple((r.name, r.shape, r.stride, r.itemsize, r.dtype, r.offset) for r in regions)
    owners = tuple(places[region.address] for region in regions)
    return views, owners, tuple(region.held for region in storages.values()), digest.digest()


def names(fn: FunctionType) -> Hashable:
    """Returns what a kernel finds under the names it looks up; None where this is not all that it depends on."""
    try:
        return tuple(_found(fn, set()))
    except Impure:
        return None


def _found(fn: FunctionType, seen: set[int]) -> Iterator[Hashable]:
    seen.add(id(fn))
    inside = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    yield tuple(_value(value, seen) for value in (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()))
    for name, cell in inside.items():
        yield name, _value(cell.cell_contents, seen)
    for name in _looked_up(fn.__code__):
        if name in fn.__globals__:
            yield name, _value(fn.__globals__[name], seen)
        else:
            yield name, _value(vars(builtins).get(name, NameError), seen)


@functools.lru_cache(maxsize=1024)
def _looked_up(code: CodeType) -> tuple[str, ...]:
    """Global names that a function's code, and the code inside it, looks up. What it stores, it stores in variables of
    its own: a pure function does nothing else.
    """
    names_read = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names_read.add(instruction.argval)
        elif instruction.opname.startswith(("STORE_", "DELETE_", "IMPORT_")) and instruction.opname not in _LOCAL:
            names_read.add("__import__")
    inner = (_looked_up(part) for part in code.co_consts if isinstance(part, CodeType))
    return tuple(sorted(names_read.union(*inner)))


def _value(value: Any, seen: set[int]) -> Hashable:
    """A value that cannot change, by what it is."""
    if isinstance(value, tl.constexpr):
        return "constexpr", _value(value.value, seen)
    if value is None or type(value) in (bool, int, float, str, tl.dtype):
        return type(value), repr(value)
    if type(value) is tuple:
        return tuple(_value(part, seen) for part in value)
    if isinstance(value, InterpretedFunction):
        # A helper that was never rewritten is one that no launch has reached.
        helper = interpreter.InterpretedFunction.rewritten_fn.get(value.fn)
        more = () if helper is None or id(helper) in seen else tuple(_found(helper, seen))
        return id(value), id(helper), more
    if _is_tritons(value) or any(value is function for function in _PURE):
        return id(value)
    raise Impure


def _is_tritons(value: Any) -> bool:
    """Triton itself, a module of its language, or a function of one."""
    if isinstance(value, ModuleType):
        known = value.__name__ == "triton" or value.__name__.startswith("triton.language")
        return known and sys.modules.get(value.__name__) is value
    ours = isinstance(value, FunctionType) and value.__code__.co_filename.startswith(_FOLDERS)
    return ours and (value.__module__ or "").startswith("triton.language")
