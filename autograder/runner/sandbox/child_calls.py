"""The calls that a child makes for one job, and what came of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..call.examination import Index
from ..call.outcome import Outcome, ProbeInput
from ..call.tree import Args
from .status import Status


@dataclass(frozen=True)
class ChildCall:
    """One of the calls that a child makes. room: the slot of the output memory, if the outputs are needed. plan: record
    what is done with the tensors instead of computing a result. follow: an element of a result, by output and index,
    whose history is all that is wanted. compare: report where it parts from the one followed before. histories:
    the results are the histories of the elements instead of their numbers. choice: as `Call.choice`.
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
    choice: int | None = None


class Came(NamedTuple):
    """Holds what came of a child's call, and the report that it was read from."""

    outcome: Outcome
    report: Status


@dataclass(frozen=True)
class Asked:
    """Holds what came of calls on other arguments and then on those that are examined.

    probe_input: of the call on others. first: of the first call on those that are examined; where there was none,
    because the process ended before, that of the probe input. second: of the next; None where there was none.
    """

    probe_input: Came
    first: Came
    second: Came | None = None

    @classmethod
    def of(cls, replies: Sequence[Came]) -> "Asked":
        """Returns what came of the calls that were started, in order: one at least."""
        probe_input, first, second, *_ = *replies, None, None
        assert probe_input is not None
        return cls(probe_input, first or probe_input, second)

    def beside(self, probe_input: ProbeInput) -> Outcome:
        """The outcome of the first call, with the probe input and what came of it, where both were called."""
        if self.first is not self.probe_input:
            self.first.outcome.probe_input = probe_input, self.probe_input.outcome
        return self.first.outcome
