"""Programs that part for a while: those for which a loop has ended, or that do not take a branch, wait in their rows.

`Programs.live` is narrowed for a round or a side, so that the others load, store and count nothing; then the variables
that are read later get their old values back in the others' rows. Where few of the rows are live, variables and
programs go on without the others' rows, and are put back in their places at the end. `lockstep_text` is what a kernel
asks of a `Loop`, a `Branch` and a `Choice`; the first two read the kernel's variables from its frame.
"""

import itertools
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from ..counters import Counter, counted, counter, span
from .fallback import Fallback
from .programs import Programs
from .variables import changed, either, put, selected, spread, taken

_FEW = 0.75  # of the rows: where fewer are live they go on without the others
_MOST_ROUNDS = 1 << 10  # of a loop that no program leaves, in a launch in which they meet
_Variables = Mapping[str, Any]


class _Region:
    """A part of the kernel that not all programs of a pass run.

    moved: whether variables are to be taken anew from ``new``. parted: whether ``merge`` is to be called at the end.
    gone: variables that only some of the programs have, to be deleted.
    """

    moved = parted = False
    new: _Variables = MappingProxyType({})
    gone: Collection[str] = ()
    _rows: np.ndarray | None = None  # of the programs that came here, those that go on without the others' rows

    def _enter(self) -> None:
        self._builder = interpreter.interpreter_builder
        self._outer: Programs = self._builder.programs
        self._came = self._outer.live

    def _parts(self, condition: Any) -> bool:
        """Returns whether programs take both sides of a condition, ``_on`` by row; if not, ``_answer`` is which one."""
        self._runs = isinstance(condition, tl.tensor)
        on = _by_program(condition)
        if on is None:
            self._answer = bool(condition)
            return False
        takes = on[interpreter.interpreter_builder.programs.live]
        self._answer, self._on = bool(takes[0]), on
        self.parted = bool(takes.any() and not takes.all())
        if self.parted:
            self._enter()
        return self.parted

    def known(self, value: Any) -> Any:
        """Returns a value as the compiler knows it: a number is a tensor where the kernel's run decides."""
        return interpreter.interpreter_semantic.to_tensor(value, False) if self._runs else value

    def _leave_others(self, live: np.ndarray, variables: _Variables, names: Iterable[str]) -> None:
        """Goes on without the rows of programs that wait."""
        programs = self._builder.programs
        self._rows = live if self._rows is None else self._rows[live]
        self.new = {name: changed(variables[name], lambda a: taken(a, live)) for name in names if name in variables}
        self.moved = True
        self._builder.switch(programs.some(live))

    def _join_others(self) -> None:
        """Goes on with all programs that came here and were not put off meanwhile."""
        self._builder.switch(self._outer)
        self._outer.narrow(self._outer.alive(self._came))

    def _spread(self, value: Any, rows: np.ndarray) -> Any:
        """A value of some programs in their places among all."""
        return changed(value, lambda a: spread(a, rows, len(self._outer.numbers)))


class Loop(_Region):
    """A loop that programs run until the last of them has ended. kept, used: as `liveness.LoopNames` has them."""

    def __init__(self, kept: Collection[str], used: Collection[str]):
        self._kept, self._used = kept, used
        self._entered = False
        self._rounds = 0  # since a program has left
        self._lost: set[str] = set()  # variables that not all programs have
        self._before: _Variables = {}  # what was used when the others were left behind
        self._ended: dict[str, Any] = {}  # of all programs: what is kept, as of when they were left behind

    def over(self, function: Callable[..., Any], *bounds: Any, **named: Any) -> Iterable[Any]:
        """The values of ``for``: those of `counters.counted`, or until the last program has ended."""
        builder = interpreter.interpreter_builder
        if not builder.lockstep or (function is not range and function is not span):
            values: Iterable[Any] = counted(function, *bounds, **named)
            return values
        indices = counter(function, bounds, named)
        same_rounds = indices.rounds.size == 1
        return indices.values(int(indices.rounds[0])) if same_rounds else self._each(indices)

    def _each(self, indices: Counter) -> Iterator[tl.tensor]:
        self._enter_once()
        for number in itertools.count():
            programs = self._builder.programs
            live = programs.live[indices.rounds[programs.live] > number]
            self._begin_or_leave(live, _variables(sys._getframe(1)))
            if not live.size:
                return
            if self.moved:
                indices = indices.of(live)
            yield indices.at(number)

    def goes_on(self, condition: Any) -> bool:
        """Returns whether there is another round of ``while``, for any program."""
        on = _by_program(condition)
        if on is None and not self._entered:
            return bool(condition)
        programs = interpreter.interpreter_builder.programs
        if on is None:
            on = np.full(len(programs.numbers), bool(condition))
        live = programs.live[on[programs.live]]
        programs_part = 0 < live.size < programs.live.size
        self._rounds = 0 if programs_part else self._rounds + 1
        if self._rounds > _MOST_ROUNDS and interpreter.interpreter_builder.memory.in_order:
            raise Fallback("programs that wait for each other")
        if self._entered or programs_part:
            self._enter_once()
            self._begin_or_leave(live, _variables(sys._getframe(1)))
        return bool(live.size)

    def _begin_or_leave(self, live: np.ndarray, variables: _Variables) -> None:
        """Begins a round of these programs; where there is none, all that came here go on behind the loop."""
        if live.size:
            self._begin_round(live, variables)
        else:
            self._leave(variables)

    def _enter_once(self) -> None:
        if not self._entered:
            self._entered = True
            self._enter()

    def _begin_round(self, live: np.ndarray, variables: _Variables) -> None:
        programs = self._builder.programs
        here = programs.alive(self._came if self._rows is None else np.arange(len(programs.numbers)))
        programs.narrow(live)
        self.moved, self.new = False, {}
        self.parted = live.size < here.size
        if live.size < _FEW * len(programs.numbers):
            self.parted = False
            self._keep_ended(variables)
            self._leave_others(live, variables, self._used)
        elif self.parted:
            self._saved = {name: variables[name] for name in self._kept if name in variables}

    def merge(self) -> None:
        """At the end of a round: programs that had ended before it get back what their variables held."""
        variables, programs = _variables(sys._getframe(1)), self._builder.programs
        on = np.zeros(len(programs.numbers), bool)
        on[programs.live] = True
        self._lost |= {name for name in self._kept if name in variables and name not in self._saved}
        self.new = {
            name: either(variables[name], old, lambda a, b: selected(on, a, b))
            for name, old in self._saved.items()
            if name in variables
        }

    def _keep_ended(self, variables: _Variables) -> None:
        """Keeps what the programs' variables hold, those that are to be left behind among them."""
        if self._rows is None:
            self._before = {name: variables[name] for name in self._used if name in variables}
            self._ended = {name: variables[name] for name in self._kept if name in variables}
            return
        rows, count = self._rows, len(self._outer.numbers)
        every_program = self._outer.alive(self._came).size == rows.size
        for name in self._kept:
            if name in variables and name in self._ended:
                both = variables[name], self._ended[name]
                self._ended[name] = either(*both, lambda new, old: put(old, rows, new, count))
            elif name in variables and every_program:
                self._ended[name] = self._spread(variables[name], rows)
            elif name in variables:
                self._lost.add(name)

    def _leave(self, variables: _Variables) -> None:
        if self._rows is not None:
            self._keep_ended(variables)
        self._join_others()
        self.gone = {name for name in self._lost if name in variables}
        self.new = {name: value for name, value in {**self._before, **self._ended}.items() if name not in self._lost}
        self.moved, self.parted = bool(self.new or self.gone), False


class Branch(_Region):
    """An ``if`` that some programs take: one side, then the other. Names: as `liveness.BranchNames` has them.

    Both sides begin with the variables as they were before.
    """

    def __init__(
        self,
        kept: Collection[str],
        first_stored: Collection[str],
        second_stored: Collection[str],
        first_used: Collection[str],
        second_used: Collection[str],
        restored: Collection[str],
    ):
        self._kept, self._restored = kept, restored
        self._first_stored, self._second_stored = first_stored, second_stored
        self._first_used, self._second_used = first_used, second_used
        self._first: dict[str, Any] | None = None  # what the first side left behind, once the second has begun

    def first(self, condition: Any) -> bool:
        """Returns whether any program takes the first side."""
        if not self._parts(condition):
            return self._answer
        variables = _variables(sys._getframe(1))
        names = {*self._kept, *self._first_used, *self._second_used, *self._restored}
        self._before = {name: variables[name] for name in names if name in variables}
        self._begin_side(self._came[self._on[self._came]], self._first_used)
        return True

    def second(self) -> bool:
        """Returns whether any program takes the second side."""
        if not self.parted:
            return not self._answer
        variables = _variables(sys._getframe(1))
        self._first = self._end_side(variables, self._first_stored)
        self._begin_side(self._came[~self._on[self._came]], self._second_used)
        again = {*self._restored, *self._second_used}
        self.new = {name: self._before[name] for name in again if name in self._before} | dict(self.new)
        self.gone = {name for name in self._restored if name in variables and name not in self._before}
        self.moved = True
        return True

    def merge(self) -> None:
        """At the end of both sides: each program has what its own side left behind."""
        variables = _variables(sys._getframe(1))
        if self._first is None:
            first, second = self._end_side(variables, self._first_stored), self._before
        else:
            first, second = self._first, self._end_side(variables, self._second_stored)
        on = self._on
        both = {
            name: either(first[name], second[name], lambda a, b: selected(on, a, b))
            for name in self._kept
            if name in first and name in second
        }
        self.gone = {name for name in self._kept if name not in both and name in variables}
        self.new = {name: value for name, value in {**self._before, **both}.items() if name not in self.gone}

    def _begin_side(self, live: np.ndarray, used: Collection[str]) -> None:
        self._rows, self.moved, self.new = None, False, {}
        self._outer.narrow(live)
        if live.size < _FEW * len(self._outer.numbers):
            self._leave_others(live, self._before, used)

    def _end_side(self, variables: _Variables, stored: Collection[str]) -> dict[str, Any]:
        """Returns what is kept, as a side leaves it, with a row for each program."""
        left = {name: self._before[name] for name in self._kept if name in self._before and name not in stored}
        for name in self._kept:
            if name in stored and name in variables:
                rows = self._rows
                left[name] = variables[name] if rows is None else self._spread(variables[name], rows)
        self._join_others()
        return left


class Choice(_Region):
    """``x if condition else y``: where programs take either, x is computed for some and y for the others."""

    def __init__(self, condition: Any):
        self._parts(condition)

    def first(self) -> bool:
        """Returns whether any program takes x."""
        if self.parted:
            self._outer.narrow(self._came[self._on[self._came]])
        return self.parted or self._answer

    def second(self) -> bool:
        """Returns whether any program takes y."""
        if self.parted:
            self._outer.narrow(self._came[~self._on[self._came]])
        return self.parted or not self._answer

    def joined(self, first: Any, second: Any) -> Any:
        """For each program what it took."""
        if not self.parted:
            return self.known(first if self._answer else second)
        self._join_others()
        return either(self.known(first), self.known(second), lambda a, b: selected(self._on, a, b))


def _variables(frame: Any) -> _Variables:
    """The kernel's variables as they are now: from Python 3.13 on ``f_locals`` follows the frame."""
    return dict(frame.f_locals)


def _by_program(condition: Any) -> np.ndarray | None:
    """By row, whether a scalar is true; None where it is one for all programs, or no scalar."""
    if not interpreter.interpreter_builder.lockstep or not isinstance(condition, tl.tensor):
        return None
    if condition.type.is_block() or condition.handle.data.shape[0] == 1:
        return None
    data = condition.handle.data.reshape(-1)
    on: np.ndarray = data & 0x7FFF != 0 if condition.dtype == tl.bfloat16 else data != 0
    return on
