"""A launch in passes: as many programs together as the budget allows, and what the interpreter needs meanwhile."""

import functools
import io
import itertools
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from .. import messages
from ..access import Access
from ..address_space import Region
from ..claims import Claims, FalseClaim
from ..findings import Finding, Place, current_place, is_defect
from .fallback import Defect, Fallback, InOrder, NoLockstep, TooWide, Traced
from .freed_memory import keep_freed_memory
from .grid_builder import GridBuilder
from .grid_reduction import GridReduce, GridScan
from .memory import Memory
from .operators import operators
from .pointers import pointers
from .programs import Programs

_MOST_LANES = 1 << 17  # elements of the widest array: what a processor's cache holds is quickest
_BYTES_PER_LANE = 2048  # of all arrays that a kernel holds at one time, generously
_REMEMBERED = 32  # loads of so many arrays are remembered by their offsets


class _Watcher:
    """The emulator as a pass sees it: notes that count when the launch is done. A hint is worth a closer look."""

    def __init__(self, emulator: Any):
        self._emulator = emulator
        self.lockstep: bool = emulator.lockstep
        self.histories = emulator.histories
        self.looser: set[str] = set()
        self.undefined: dict[Place, list[np.ndarray]] = {}
        self.noticed: dict[tuple[str, str, Place], Callable[[Place], Finding]] = {}
        self.false_claims: dict[tuple[str, Place], tuple[int, int, FalseClaim, int]] = {}
        self._count = itertools.count()

    @property
    def fill(self) -> float | None:
        """Returns what masked-off lanes hold, which may depend on the load under way."""
        fill: float | None = self._emulator.fill
        return fill

    def note_undefined(self, kernel: str, region: Region, programs: np.ndarray) -> None:
        """Notes the programs of which a load has masked-off lanes and no ``other``."""
        self.undefined.setdefault(current_place(), []).append(programs)
        self.notice("masked-load", functools.partial(messages.masked_load, kernel, region.name), region.name)

    def note_filled(self, number: int | None) -> None:
        """Passes on with which integer masked-off lanes are filled."""
        self._emulator.note_filled(number)

    def loose(self, operation: str) -> None:
        """Notes an operation of `CANNOT_SHOW`."""
        self.looser.add(operation)

    def notice(self, kind: str, make: Callable[[Place], Finding], tensor: str = "") -> None:
        """Notes a hint at the kernel's line under way."""
        self.noticed.setdefault((kind, tensor, current_place()), make)

    def note_false_claim(self, claim: FalseClaim, tensor: str, rank: int, program: int) -> None:
        """Notes a claim about values that is false in a program, which comes as the ``rank``-th: the first at its line
        is reported.
        """
        key = tensor, current_place()
        if key not in self.false_claims or rank < self.false_claims[key][0]:
            self.false_claims[key] = rank, next(self._count), claim, program

    def hint_wrapped(self, exact: int, wrapped: int, what: str) -> None:
        """Gives up: which value wrapped first, one program at a time tells."""
        raise Fallback("an integer that wraps around")

    def hint_gathered(self, index: int, size: int) -> None:
        """Gives up, as `hint_wrapped` does."""
        raise Fallback("an index outside a block")


def run(
    emulator: Any,
    fn: FunctionType,
    arguments: dict[str, Any],
    grid: tuple[int, int, int],
    access: Access,
    order: np.ndarray,
) -> str:
    """Runs all programs of a launch, and returns why that was not possible, "" where it was. If not, it is as if
    nothing had been run, as it is where it raises Defect.

    order: program numbers as one program at a time would run them, of all programs or of some. Only atomics ask for it:
    programs of which none reads what another stores leave the same bits in any order, and of those that do, each comes
    after the other by an atomic (`releases`).
    """
    watcher, printed = _Watcher(emulator), io.StringIO()
    ranks = None if emulator.shuffle is None else np.argsort(order)
    lanes = max(1, min(_MOST_LANES, emulator.memory // _BYTES_PER_LANE))
    memory = Memory(
        access, emulator.shadow, emulator.pattern, watcher.note_undefined, ranks, _REMEMBERED * lanes, emulator.traced
    )
    access.printed, key, replay = printed, None, emulator.replay
    if replay is not None:
        key = replay.key(emulator, fn, arguments, grid, access)
        effect = replay.find(key)
        if effect is not None:
            replay.apply(effect, memory)
            _finish(emulator, effect.looser, effect.printed)
            return ""
    emulator.prepare()
    keep_freed_memory()
    try:
        with _Patches(memory, watcher, lanes), np.errstate(all="ignore"):
            _passes(fn, arguments, grid, memory, order, printed)
            memory.settle()
    except (Fallback, Exception) as reason:  # a kernel's own error is told by program
        memory.undo()
        access.started, access.claims = 0, Claims()
        if is_defect(reason):
            raise Defect(str(reason)) from reason
        return _sentence(reason)
    finally:
        access.printed = None
    memory.finish()
    for (tensor, place), (_, _, claim, program) in sorted(watcher.false_claims.items(), key=lambda noted: noted[1][:2]):
        access.claims.add(claim, tensor, access.first + 1 + program, place)
    for (kind, tensor, place), make in watcher.noticed.items():
        emulator.notice(kind, make, tensor, place)
    if key is not None and not watcher.noticed and not watcher.false_claims:
        replay.keep(key, memory, watcher.looser, printed.getvalue())
    for place, programs in watcher.undefined.items():
        emulator.note_masked_off(place, np.concatenate(programs))
    _finish(emulator, watcher.looser, printed.getvalue())
    return ""


def _finish(emulator: Any, looser: Iterable[str], printed: str) -> None:
    """Hands on what a launch that is done has noted and printed."""
    for operation in looser:
        emulator.loose(operation)
    print(printed, end="")


def _passes(
    fn: FunctionType,
    arguments: dict[str, Any],
    grid: tuple[int, int, int],
    memory: Memory,
    order: np.ndarray,
    printed: io.StringIO,
) -> None:
    builder = interpreter.interpreter_builder
    builder.set_grid_dim(*grid)
    ready = {name: pointers(value, memory.access.space) for name, value in arguments.items()}
    todo = [memory.by_number(order)]
    memory.access.started = 1
    while todo:
        some = todo.pop()
        most = max(1, builder.lanes // builder.widest)
        if len(some) > most:
            todo.append(some[most:])
            some = some[:most]
        builder.programs = programs = Programs(memory.by_number(some), grid)
        memory.begin(programs)
        said = printed.tell()
        try:
            fn(**ready)
        except (TooWide, NoLockstep, Traced, InOrder) as reason:  # in smaller passes, programs that part, more notes
            builder.lockstep &= not isinstance(reason, NoLockstep)
            if memory.in_order:  # what an atomic has given to a program is not taken back
                memory.undo()
                half = len(order) // 2 if memory.halved else 0
                todo, said, memory.access.started = [order[half:], *([order[:half]] if half else [])], 0, 1
            else:
                memory.restart()
                todo.append(some)
            printed.seek(said)
            printed.truncate()
            continue
        memory.end()
        memory.access.started = 2  # what a compiler prints has been printed
        todo += programs.waiting


def _sentence(reason: BaseException) -> str:
    """The innermost reason: Triton wraps what a kernel raises."""
    while reason.__cause__ is not None:
        reason = reason.__cause__
    return str(reason) if isinstance(reason, Fallback) else f"{type(reason).__name__}: {reason}"


class _Patches:
    """Holds what the interpreter needs while passes run, on top of the emulator's own patches."""

    def __init__(self, memory: Memory, watcher: _Watcher, lanes: int):
        self._values = {"memory": memory, "emulator": watcher, "lanes": lanes, "widest": 1, "unused": False}
        self._values["lockstep"] = watcher.lockstep
        self._follow = watcher.histories

    def __enter__(self) -> None:
        builder = interpreter.interpreter_builder
        self._state, self._class = dict(vars(builder)), type(builder)
        shown = {"__repr__": _show, "__str__": _show}
        if self._follow is None:
            kinds: tuple[Any, ...] = GridBuilder, GridReduce, GridScan
            quicker = operators()
        else:
            from ..history import followed  # seldom asked for

            kinds = followed.FollowedBuilder, followed.FollowedReduce, followed.FollowedScan
            quicker = {}  # they go past the builder
            self._values["histories"] = self._follow
        builder.__class__, reduces, scans = kinds
        vars(builder).update(self._values)
        ours = [(tl.tensor, name, value) for name, value in (quicker | shown).items()]
        ours += [(interpreter, "ReduceOps", reduces), (interpreter, "ScanOps", scans)]
        self._old = [(owner, name, getattr(owner, name)) for owner, name, _ in ours]
        for owner, name, value in ours:
            setattr(owner, name, value)

    def __exit__(self, *error: object) -> None:
        builder = interpreter.interpreter_builder
        builder.__class__ = self._class
        vars(builder).clear()
        vars(builder).update(self._state)
        for owner, name, value in self._old:
            setattr(owner, name, value)


def _show(tensor: tl.tensor) -> str:
    raise Fallback("a kernel that shows a tensor's values")
