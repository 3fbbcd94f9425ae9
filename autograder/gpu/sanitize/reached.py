"""Says what a run reached of each kernel, added up over launches and processes, and a sentence on what it did not."""

from collections.abc import Iterable
from typing import Any

FunctionLines = dict[str, Any]  # as `emulator.coverage.Coverage.news` gives it


class Reached:
    """The functions of a run. Each holds ``kernel, file, line``, and beside a line's number whether it was reached:
    ``lines`` ([line, ran]), ``branches`` ([line, true, false]), ``masks`` ([line, all, some, none]).
    """

    def __init__(self) -> None:
        self._functions: dict[tuple[str, int, str], FunctionLines] = {}

    def add(self, functions: Iterable[FunctionLines]) -> None:
        """Adds what was reached, in the same launches or in others."""
        for function in functions:
            key = function["file"], function["line"], function["kernel"]
            before = self._functions.get(key, {})
            merged = {part: _either(before.get(part, []), function[part]) for part in ("lines", "branches", "masks")}
            self._functions[key] = function | merged

    def functions(self) -> list[FunctionLines]:
        """All of them, by file and line."""
        return [function for _, function in sorted(self._functions.items())]


def _either(before: list[list[Any]], now: list[list[Any]]) -> list[list[Any]]:
    rows = {row[0]: row[1:] for row in before}
    for line, *reached in now:
        old = rows.get(line, [False] * len(reached))
        rows[line] = [a or b for a, b in zip(old, reached, strict=True)]
    return [[line, *rows[line]] for line in sorted(rows)]


def called(function: FunctionLines) -> bool:
    """Returns whether anything of a function was reached."""
    return any(ran for _, ran in function["lines"])


def missed(function: FunctionLines) -> str:
    """Returns what was not reached of a function: ``lines 23 and 25 never ran; `if` never true in line 22``; "" where
    nothing is missing. Of an ``if`` and a mask that were never reached, the line tells.
    """
    lines = [line for line, ran in function["lines"] if not ran]
    branches, masks = function["branches"], function["masks"]
    parts = {
        "`if` never true in": [line for line, true, false in branches if false and not true],
        "`if` never false in": [line for line, true, false in branches if true and not false],
        "mask never False in": [line for line, every, some, none in masks if every and not some and not none],
        "mask never True in": [line for line, every, some, none in masks if none and not every and not some],
    }
    said = [f"{_numbers(lines)} never ran"] if lines else []
    return "; ".join(said + [f"{what} {_numbers(where)}" for what, where in parts.items() if where])


def _numbers(lines: list[int]) -> str:
    """``line 7``, ``lines 7, 9 and 12 to 15``."""
    runs: list[list[int]] = []
    for line in lines:
        if runs and line == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], line]
        else:
            runs.append([line])
    *most, last = [" to ".join(map(str, run)) for run in runs]
    text = f"{', '.join(most)} and {last}" if most else last
    return f"line{'s' if len(lines) > 1 else ''} {text}"
