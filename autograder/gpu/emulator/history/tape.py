"""The operations of a run, and where two runs part: back from two results to the first step that was not the same."""

import linecache
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..findings import Place

Node = tuple[int, tuple[Any, ...]]  # the number of an operation, and the element that it made
_SIGNS = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
_FARTHEST = 10_000  # steps back
_EXACT = 2  # numbers that have one sum in any order
_BEFORE = 3  # operations between two that belong to one loop


@dataclass(frozen=True)
class TapeStep:
    """An operation: its name, ``KIND of EXTENT`` where it adds up lanes; the kernel's line; the histories of its
    results, of its operands, and of the lanes that a reduction or a `tl.dot` adds up.
    """

    name: str
    place: Place
    result: np.ndarray
    operands: tuple[np.ndarray, ...] = ()
    lanes: tuple[np.ndarray, ...] = ()


class Tape:
    """The steps of a run, in order."""

    def __init__(self) -> None:
        self.steps: list[TapeStep] = []

    @cached_property
    def _index(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(where each step's elements begin, all histories sorted, the places of these)."""
        flat = [step.result.ravel() for step in self.steps]
        starts = np.cumsum([0, *(part.size for part in flat)])
        every = np.concatenate(flat) if flat else np.zeros(0, np.uint64)
        order = np.argsort(every, kind="stable")
        return starts, every[order], order

    def find(self, h: np.uint64) -> Node | None:
        """The operation that made a history, the first that has it, since who hands it on comes later. None for a zero
        and for a number that was not computed.
        """
        starts, every, order = self._index
        at = int(np.searchsorted(every, h))
        if not h or at == len(every) or every[at] != h:
            return None
        flat = int(order[at])
        number = int(np.searchsorted(starts, flat, side="right")) - 1
        return number, tuple(map(int, np.unravel_index(flat - starts[number], self.steps[number].result.shape)))

    def label(self, node: Node | None) -> tuple[str, int]:
        """Returns what the operation is, and its line: two that were done in one way have one label."""
        return ("", 0) if node is None else (self.steps[node[0]].name, self.steps[node[0]].place.line)

    def operands(self, node: Node) -> list[np.uint64]:
        """The histories of what was computed with."""
        step = self.steps[node[0]]
        return [np.uint64(np.broadcast_to(operand, step.result.shape)[node[1]]) for operand in step.operands]

    def lanes(self, node: Node) -> list[np.uint64]:
        """The histories of the lanes that a reduction or a `tl.dot` adds up, in order."""
        step = self.steps[node[0]]
        if len(step.lanes) == 1:
            lanes = step.lanes[0]
            return list(np.broadcast_to(lanes, (*step.result.shape, lanes.shape[-1]))[node[1]])
        if step.lanes:
            *front, m, n = node[1]
            rows, columns = (
                np.broadcast_to(lane, (*step.result.shape[:-2], *lane.shape[-2:]))[tuple(front)] for lane in step.lanes
            )
            return [h for pair in zip(rows[m], columns[:, n], strict=True) for h in pair]
        return []

    def repeats(self, node: Node) -> int:
        """Returns how often in a row the operation was done on what it made itself."""
        count, label, at = 0, self.label(node), self._before(node, self.label(node), _BEFORE)
        while at is not None:
            count, at = count + 1, self._before(at, label, _BEFORE)
        return count + 1

    def _before(self, node: Node, label: tuple[str, int], depth: int) -> Node | None:
        """The operation of this label among those that made the operands, soon before it."""
        for h in self.operands(node) if depth else ():
            operand = self.find(h)
            if operand is not None:
                earlier = operand if self.label(operand) == label else self._before(operand, label, depth - 1)
                if earlier is not None:
                    return earlier
        return None

    def unordered(self, results: np.ndarray) -> str:
        """The operation, among those that ``results`` were computed from, that adds more than two floats by atomics, in
        words; "" where there is none.
        """
        if not any(_is_unordered(step.name) for step in self.steps):
            return ""
        seen, due = {int(h) for h in results}, [np.uint64(h) for h in results]
        while due and len(seen) < _FARTHEST:
            node = self.find(due.pop())
            if node is None:
                continue
            if _is_unordered(self.steps[node[0]].name):
                return self.words(node)
            more = [h for h in self.operands(node) + self.lanes(node) if int(h) not in seen]
            seen |= {int(h) for h in more}
            due += more
        return ""

    def words(self, node: Node | None) -> str:
        """The operation in words, with its line."""
        if node is None:
            return "a number that no kernel computed"
        (name, line), repeats = self.label(node), self.repeats(node)
        kind, _, extent = name.rpartition(" of ")
        times = "once" if repeats == 1 else f"{repeats} times in a row"
        if kind == "dot":
            what = f"`tl.dot` adds K in {repeats} block{'s' * (repeats > 1)} of {extent}"
        elif kind == "load":
            what = f"`{extent}` is loaded"
        elif kind == "atomic":
            what = f"{extent} atomic additions, in any order"
        else:
            what = f"{kind} of {extent} numbers, {times}" if kind else f"`{_SIGNS.get(name, name)}` {times}"
        return f"{what} (line {line})"

    def source(self, node: Node | None) -> str:
        """The kernel's line."""
        place = self.steps[node[0]].place if node is not None else None
        return linecache.getline(place.file, place.line).strip() if place else ""


def _is_unordered(name: str) -> bool:
    kind, _, extent = name.rpartition(" of ")
    return kind == "atomic" and int(extent) > _EXACT


@dataclass(frozen=True)
class Parting:
    """The last step of two computations that is not the same: each in words, and the lines of the kernel. by_no_kernel:
    whether neither result is a kernel's.
    """

    here: str
    there: str
    lines: tuple[str, ...]
    by_no_kernel: bool = False


def parting(here: tuple[Tape, np.uint64], there: tuple[Tape, np.uint64]) -> Parting | None:
    """Where two results, each a run and a history, part; None where that is not found."""
    (first, h), (second, k) = here, there
    for _ in range(_FARTHEST):
        left, right = first.find(h), second.find(k)
        if left is None or right is None or first.label(left) != second.label(right):
            return _told(first, left, second, right)
        if first.repeats(left) != second.repeats(right):
            return _told(first, left, second, right)
        pairs = zip(
            first.operands(left) + first.lanes(left), second.operands(right) + second.lanes(right), strict=False
        )
        other = next(((a, b) for a, b in pairs if a != b), None)
        if other is None:  # a load of other numbers, or an operation whose operands are not kept
            return _told(first, left, second, right) if h != k else None
        h, k = other
    return None


def _told(first: Tape, left: Node | None, second: Tape, right: Node | None) -> Parting:
    lines = dict.fromkeys(filter(None, (first.source(left), second.source(right))))
    return Parting(first.words(left), second.words(right), tuple(lines), left is None and right is None)
