"""Rows of a parametrized test of which ``make test`` takes some and ``make test-all`` the others, or of which
``make test-all`` takes some and ``make test-release`` the others.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

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


def in_test_all(rows: Iterable[Any]) -> list:
    """Rows of `one_in` or `in_turn` one step later: what ``make test`` would take ``make test-all`` does, and what it
    would leave out ``make test-release``.
    """
    return [
        pytest.param(*row.values, id=row.id, marks=pytest.mark.release if row.marks else pytest.mark.exhaustive)
        for row in rows
    ]
