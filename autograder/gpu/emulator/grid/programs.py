"""The programs of one pass, and how they part where Python needs one value and they hold several."""

import copy
from collections.abc import Callable
from typing import Any, overload

import numpy as np


class Programs:
    """Some programs of a launch, run together. Where they part, the largest group goes on and the others wait.

    numbers: in row-major order of the grid, one for each row.
    ids: the three components of the program index, of shape ``(rows,)``, or ``(1,)`` where all rows agree.
    live: the rows that go on.
    rows: which rows of the pass these are: all, or some that go on without the others for a while (`lockstep`).
    waiting: numbers of the programs that were put off, by group: each group begins anew in a pass of its own.
    """

    def __init__(self, numbers: np.ndarray, grid: tuple[int, int, int]):
        self.numbers = numbers
        rest, z = np.divmod(numbers, grid[2])
        x, y = np.divmod(rest, grid[1])
        self.ids = [_uniform(component.astype(np.int32)) for component in (x, y, z)]
        self.live = self.rows = np.arange(len(numbers))
        self.waiting: list[np.ndarray] = []
        self._off = np.zeros(len(numbers), bool)  # of the pass, rows that were put off
        self._stand_in: np.ndarray | None = None  # for each row, a row that goes on

    def decide(self, data: np.ndarray, put_off: Callable[[np.ndarray], None]) -> Any:
        """The number on which the programs agree, after those that do not agree have been put off.

        put_off: is called with the rows that wait. A program that begins anew decides the same: no other program stores
        what it reads, which is checked.
        """
        data = data.reshape(data.shape[0])
        if data.size == 1:
            return data.item()
        values, groups, counts = np.unique(data[self.live], return_inverse=True, return_counts=True)
        most = int(counts.argmax())
        if values.size > 1:
            put_off(self.live[groups != most])
            self._part(groups, most, values.size)
        return values[most].item()

    def _part(self, groups: np.ndarray, most: int, count: int) -> None:
        self.waiting += [self.numbers[self.live[groups == group]] for group in range(count) if group != most]
        self._off[self.rows[self.live[groups != most]]] = True
        self.narrow(self.live[groups == most])

    def narrow(self, live: np.ndarray) -> None:
        """Has these rows alone go on."""
        self.live, self._stand_in = live, None
        if live.size < len(self.numbers):
            self._stand_in = np.full(len(self.numbers), live[0])
            self._stand_in[live] = live

    def alive(self, rows: np.ndarray) -> np.ndarray:
        """Those of some rows that were not put off."""
        return rows[~self._off[self.rows[rows]]] if self.waiting else rows

    def some(self, rows: np.ndarray) -> "Programs":
        """Some of the programs, which go on without the others' rows. Those put off are put off of the pass."""
        subset = copy.copy(self)
        subset.numbers, subset.rows = self.numbers[rows], self.rows[rows]
        subset.ids = [component if len(component) == 1 else _uniform(component[rows]) for component in self.ids]
        subset.narrow(np.arange(len(rows)))
        return subset

    @overload
    def sound(self, rows: np.ndarray) -> np.ndarray: ...
    @overload
    def sound(self, rows: None) -> None: ...
    @overload
    def sound(self, rows: np.ndarray | None) -> np.ndarray | None: ...

    def sound(self, rows: np.ndarray | None) -> np.ndarray | None:
        """Rows that were put off, or wait, repeat a row that goes on: their own offsets may be garbage by now."""
        return rows if self._stand_in is None or rows is None or rows.shape[0] == 1 else rows[self._stand_in]

    @overload
    def only_live(self, rows: np.ndarray) -> np.ndarray: ...
    @overload
    def only_live(self, rows: None) -> None: ...
    @overload
    def only_live(self, rows: np.ndarray | None) -> np.ndarray | None: ...

    def only_live(self, rows: np.ndarray | None) -> np.ndarray | None:
        """The rows that go on, of an array of one for each program; an array of one row as it is."""
        return rows if self._stand_in is None or rows is None or rows.shape[0] == 1 else rows[self.live]


def _uniform(values: np.ndarray) -> np.ndarray:
    return values[:1] if (values == values[0]).all() else values
