"""Says what was reached of each kernel: statements, both branches of each ``if``, and what each mask let through.

A kernel is rewritten anyway (`rewrite`), and a call that notes a number is put before each of its statements. A program
that waits while others go on begins anew, so what is noted is what programs really ran.
"""

import ast
import contextlib
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import triton

from . import rewrite
from .findings import Place, current_place

ALL, SOME, NONE = 1, 2, 4  # lanes of a program that a mask lets through
_EVERYTHING = ALL | SOME | NONE
_TRITON = str(Path(triton.__file__).parent)


@dataclass
class FunctionMarks:
    """The marks of a kernel, or of a function that kernels call. first, last: its lines.

    lines: the mark of each line with a statement. branches: line, mark of the true and of the false branch. unmasked:
    lines of atomics without a mask, which come with one that is True.
    """

    name: str
    file: str
    first: int
    last: int
    lines: dict[int, int] = field(default_factory=dict)
    branches: list[tuple[int, int, int]] = field(default_factory=list)
    unmasked: set[int] = field(default_factory=set)


_owners: list[FunctionMarks] = []  # by mark; kernels stay rewritten for the life of the process


class Coverage:
    """Holds what the launches of a `Sanitizer` reached. marks: the numbers noted so far; kernels call its ``add``."""

    def __init__(self) -> None:
        self.marks: set[int] = set()
        self.masks: dict[Place, int] = {}
        self._told: set[int] = set()
        self._changed: set[Place] = set()  # masks that have let through what they had not before

    def masked(self, rows: np.ndarray) -> None:
        """Notes the mask of an access: one row for each program, one column for each lane."""
        place = current_place()
        before = self.masks.get(place, 0)
        if before != _EVERYTHING:
            seen = before | _let_through(rows)
            if seen != before:
                self.masks[place] = seen
                self._changed.add(place)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Notes nothing in the block: a launch is run again with other values, and may go other ways."""
        before = set(self.marks), dict(self.masks), set(self._changed)
        try:
            yield
        finally:
            self.marks.intersection_update(before[0])  # the same set: kernels hold its `add`
            _, self.masks, self._changed = before

    def news(self) -> list[dict[str, Any]]:
        """The functions of which more was reached since the last call, as JSON has them: each with ``kernel``, ``file``
        and ``line``, ``lines`` ([line, reached]), ``branches`` ([line, true, false]: whether it was taken) and
        ``masks`` ([line, all, some, none]: whether it let through all lanes of a program, some, none).
        """
        if len(self._told) == len(self.marks) and not self._changed:
            return []
        reached = {id(_owners[mark]): _owners[mark] for mark in self.marks}
        more = {id(_owners[mark]) for mark in self.marks - self._told}
        more |= {
            function for function, owner in reached.items() if any(_holds(owner, place) for place in self._changed)
        }
        self._told = set(self.marks)
        self._changed.clear()
        return [self._data(owner) for function, owner in reached.items() if function in more]

    def never_called(self, functions: Iterable[types.FunctionType]) -> list[dict[str, Any]]:
        """As `news` has them, those of these functions, kernels among them, of which nothing was reached."""
        reached = {(owner.file, owner.name) for owner in map(_owners.__getitem__, self.marks)}
        others = [fn for fn in functions if (fn.__code__.co_filename, fn.__name__) not in reached]
        return [self._data(_marked(fn, rewrite.syntax(fn))) for fn in others]

    def _data(self, function: FunctionMarks) -> dict[str, Any]:
        places = [place for place in self.masks if _holds(function, place) and place.line not in function.unmasked]
        masks = sorted((place.line, self.masks[place]) for place in places)
        return {
            "kernel": function.name,
            "file": function.file,
            "line": function.first,
            "lines": [[line, mark in self.marks] for line, mark in function.lines.items()],
            "branches": [[line, *(mark in self.marks for mark in both)] for line, *both in function.branches],
            "masks": [[line, *(bool(seen & state) for state in (ALL, SOME, NONE))] for line, seen in masks],
        }


def _let_through(rows: np.ndarray) -> int:
    lanes = np.count_nonzero(rows)
    if lanes in (0, rows.size) or len(rows) == 1:
        return ALL if lanes == rows.size else SOME if lanes else NONE
    every, nothing = rows.all(axis=1), ~rows.any(axis=1)
    some = not (every | nothing).all()
    return (ALL if every.any() else 0) | (SOME if some else 0) | (NONE if nothing.any() else 0)


def _holds(function: FunctionMarks, place: Place) -> bool:
    return place.file == function.file and function.first <= place.line <= function.last


def mark(fn: types.FunctionType, tree: ast.Module) -> ast.Module:
    """Puts the marks into a kernel's tree, unless it is of Triton's own library."""
    if not fn.__code__.co_filename.startswith(_TRITON):
        _marked(fn, tree)
    return tree


def _marked(fn: types.FunctionType, tree: ast.Module) -> FunctionMarks:
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    first, last = definition.lineno, definition.end_lineno or definition.lineno
    marks = _Marks(FunctionMarks(fn.__name__, fn.__code__.co_filename, first, last))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    marks.function.unmasked.update(call.lineno for call in calls if _is_unmasked_atomic(call))
    definition.body = marks.block(definition.body)
    return marks.function


def _is_unmasked_atomic(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return name.startswith("atomic_") and len(call.args) < 3 and all(word.arg != "mask" for word in call.keywords)


class _Marks:
    def __init__(self, function: FunctionMarks):
        self.function = function

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements, a mark before each."""
        marked: list[ast.stmt] = []
        for node in body:
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not is_text and node.lineno not in self.function.lines:
                self.function.lines[node.lineno] = len(_owners)
                marked.append(self._mark(node))
            self._inside(node)
            marked.append(node)
        return marked

    def _inside(self, node: ast.stmt) -> None:
        if isinstance(node, ast.If):
            self.function.branches.append((node.lineno, len(_owners), len(_owners) + 1))
            taken, other = self._mark(node), self._mark(node)
            node.body, node.orelse = [taken, *self.block(node.body)], [other, *self.block(node.orelse)]
        elif isinstance(node, ast.For | ast.While):
            node.body, node.orelse = self.block(node.body), self.block(node.orelse)

    def _mark(self, node: ast.stmt) -> ast.stmt:
        semantic = ast.Name(id="interpreter_semantic", ctx=ast.Load())
        note = ast.Attribute(value=semantic, attr="reached", ctx=ast.Load())
        call = ast.Call(func=note, args=[ast.Constant(len(_owners))], keywords=[])
        _owners.append(self.function)
        return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), node))
