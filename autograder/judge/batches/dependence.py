"""Says what a row's neighbours change, as data and in words."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from torch import Tensor

from .bits import other_bits, text_of, ulp_between
from .past import Causality

NOT_ASKED = "another num_warps, and the order in which a GPU adds within one tl.dot or tl.sum"
NOBODYS = (
    "{output} is a sum in nobody's order: {where}. A GPU adds them in another order in every call, and rows have other "
    "bits without any neighbour; integers and maxima are exact"
)
SHOWN = 5  # of the calls that differ; the rest are counted
WIDTH = 96  # characters of a line, as a notebook has room for: JupyterLab breaks a longer one within a word


@dataclass(frozen=True)
class Difference:
    """A call in which a result's bits were others than in the whole batch.

    called: which rows were together. rows: how many. output: the result's name. differ: elements, of ``compared``.
    row: of the batch, place: of that row in the call, and element: its index in the row, of the first that differs.
    here, whole: what it is in this call and in the whole batch; empty where the bits are the same and were computed
    otherwise. ulp: how far apart they are, None where that is no number. raised: what the call raised instead, and all
    but ``called`` and ``rows`` is empty then.
    """

    called: str
    rows: int
    output: str = ""
    differ: int = 0
    compared: int = 0
    row: int = 0
    place: int = 0
    element: tuple[int, ...] = ()
    here: str = ""
    whole: str = ""
    ulp: float | None = None
    raised: str = ""

    def sentence(self, rows: int) -> str:
        """The difference in words; ``rows`` are those of the whole batch."""
        if self.raised:
            return f"{self.called} ({_rows(self.rows)}): raises {self.raised}"
        if not self.here:
            return (
                f"{self.called} ({_rows(self.rows)}): {self.differ:,} of {self.compared:,} elements of {self.output} "
                f"are computed otherwise than in the batch of {rows}, though with these numbers the bits are the same"
            )
        at = ", ".join(map(str, (self.row, *self.element)))
        apart = f", {self.ulp:.3g} ulp apart" if self.ulp else ""
        return (
            f"{self.called} ({_rows(self.rows)}): {self.differ:,} of {self.compared:,} elements of {self.output} "
            f"differ; the first, {self.output}[{at}], is {self.here} there and {self.whole} in the batch of "
            f"{rows}{apart}"
        )


@dataclass(frozen=True, repr=False)
class Neighbours:
    """Holds whether a row's neighbours change its result: true where they do, so that a test says ``assert not
    neighbours(...)``.

    name: of the function. batch: the arguments whose rows were called in other batches. rows: of the whole batch.
    found: the calls that differ. reason: where the first of them and the whole batch part, as lines of text. calls:
    how many were compared. sizes: their smallest and their largest number of rows. left_out: what was not compared, and
    why. unordered: results whose bits are chance, since atomics add floats up, and where. causality: whether what comes
    behind a position changes its result, None where that was not asked.
    """

    name: str
    batch: tuple[str, ...]
    rows: int
    found: tuple[Difference, ...]
    reason: tuple[str, ...]
    calls: int
    sizes: tuple[int, int]
    left_out: dict[str, str]
    unordered: dict[str, str] = field(default_factory=dict)
    causality: Causality | None = None

    def __bool__(self) -> bool:
        return bool(self.found or self.unordered or self.causality)

    def __str__(self) -> str:
        lines = [*self._of_rows()]
        lines += [f"  {NOBODYS.format(output=output, where=where)}" for output, where in self.unordered.items()]
        lines += [f"Not compared: {what}: {why}" for what, why in self.left_out.items()]
        if self.causality is not None:
            lines += self.causality.lines(self.name)
        return "\n".join(map(_wrapped, [*lines, f"Not asked: {NOT_ASKED}."]))

    def _of_rows(self) -> Iterator[str]:
        about = f"{self.name}, rows of {' and '.join(self.batch)}"
        calls = f"{self.calls} other batches, of {self.sizes[0]} to {_rows(self.sizes[1])}"
        if not self.found and self.unordered:
            yield f"{about}: a row's result has other bits from call to call, whatever rows are beside it"
        elif not self.found and self.rows:
            yield f"{about}: a row's result has the same bits whatever rows are beside it ({calls})"
        elif self.found:
            yield f"{about}: a row's result depends on the rows beside it, in {len(self.found)} of {calls}"
            first, *rest = (f"  {change.sentence(self.rows)}" for change in self.found[:SHOWN])
            yield from (first, *(f"    {line}" for line in self.reason), *rest)
            if len(self.found) > SHOWN:
                yield f"  and {len(self.found) - SHOWN} more"

    __repr__ = __str__  # which pytest shows of a failed `assert not neighbours(...)`

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {"passed": not self, **asdict(self), "not_asked": NOT_ASKED}


def difference(
    called: str, rows: int, output: str, here: Tensor, whole: Tensor, of: Sequence[int], places: Sequence[int]
) -> Difference | None:
    """Returns how ``here``, the results of some rows in one call, differ from those of the same rows in the whole
    batch, bit by bit; None where they do not. Any NaN is like another. of: the numbers of the rows. places: theirs in
    the call.
    """
    other = other_bits(here, whole)
    if not other.any():
        return None
    first = tuple(other.nonzero()[0].tolist())
    mine, theirs = here[first], whole[first]
    return Difference(
        *(called, rows, output, int(other.sum()), other.numel(), of[first[0]], places[first[0]], first[1:]),
        *(text_of(mine), text_of(theirs), ulp_between(mine, theirs)),
    )


def _wrapped(line: str) -> str:
    """The line in lines of at most WIDTH, indented as it is; what has no blank in it stays whole."""
    indent = line[: len(line) - len(line.lstrip())]
    lines = textwrap.wrap(line, WIDTH, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"
