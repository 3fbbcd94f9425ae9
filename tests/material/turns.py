"""Rows of a parametrized test of which ``make test`` takes some, and ``make test-all`` the others."""

from collections.abc import Callable, Iterable, Sequence

import pytest


def one_in(step: int, rows: Iterable[tuple], name: Callable[[tuple], str] | None = None) -> list:
    """``make test`` takes each ``step``-th row. Where subjects and ways make the rows, a step that has no divisor in
    common with the number of ways meets every way.
    """
    return [
        pytest.param(*row, id=name and name(row), marks=pytest.mark.exhaustive if number % step else ())
        for number, row in enumerate(rows)
    ]


def in_turn(subjects: Iterable[object], ways: Sequence[object]) -> list:
    """A row for each subject in each way. ``make test`` takes one way of each subject, the next of the next one."""
    return [
        pytest.param(subject, way, marks=pytest.mark.exhaustive if (number - at) % len(ways) else ())
        for number, subject in enumerate(subjects)
        for at, way in enumerate(ways)
    ]
