"""Rows of a parametrized test of which ``make test`` takes some, and ``make test-all`` the others."""

from collections.abc import Callable, Iterable

import pytest


def one_in(step: int, rows: Iterable[tuple], name: Callable[[tuple], str] | None = None) -> list:
    """``make test`` takes each ``step``-th row. Where subjects and ways make the rows, a step that has no divisor in
    common with the number of ways meets every way.
    """
    return [
        pytest.param(*row, id=name and name(row), marks=pytest.mark.exhaustive if number % step else ())
        for number, row in enumerate(rows)
    ]
