"""The calls that a child makes for one job, and what came of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..call.examination import Index
from ..call.outcome import Decoy, Outcome
from ..call.tree import Args
from .status import Status


@dataclass(frozen=True)
class ChildCall:
    """One of the calls that a child makes. room: the slot of the output memory, if the outputs are needed. plan: record
    what is done with the tensors instead of computing a result. follow: an element of a result, by output and index,
    whose history is all that is wanted. compare: report where it parts from the one followed before. histories:
    the results are the histories of the elements instead of their numbers.
    """

    args: Args
    room: int | None = None
    shuffle: int | None = None
    fill: float | None = None
    plan: bool = False
    needed: bool = True  # the calls after it are made only if it succeeds
    launches: bool = True  # report what was launched
    follow: tuple[int, Index] | None = None
    compare: bool = False
    histories: bool = False


class Came(NamedTuple):
    """Holds what came of a child's call, and the report that it was read from."""

    outcome: Outcome
    report: Status


@dataclass(frozen=True)
class Asked:
    """Holds what came of calls on other arguments and then on those that are examined.

    decoy: of the call on others. first: of the first call on those that are examined; where there was none, because the
    process ended before, that of the decoy. second: of the next; None where there was none.
    """

    decoy: Came
    first: Came
    second: Came | None = None

    @classmethod
    def of(cls, came: Sequence[Came]) -> "Asked":
        """Returns what came of the calls that were started, in order: one at least."""
        decoy, first, second, *_ = *came, None, None
        assert decoy is not None
        return cls(decoy, first or decoy, second)

    def beside(self, decoy: Decoy) -> Outcome:
        """The outcome of the first call, with the decoy and what came of it, where both were called."""
        if self.first is not self.decoy:
            self.first.outcome.decoy = decoy, self.decoy.outcome
        return self.first.outcome
