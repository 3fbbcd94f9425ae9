"""Tries a teacher's cases of an exercise: the category of each, and which of the known wrong answers fail it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..checking.check import check
from ..comparing.trial import arguments, describe
from ..records.record import Exercise
from ..report.report import Report
from ..results.scoring import COSTS


@dataclass(frozen=True)
class TriedCase:
    """A case that was tried. category: what it costs points in; inputs: as the command shows them; failed_by: the known
    wrong answers that fail it, of the ``known`` that were called.
    """

    name: str
    category: str
    bonus: bool
    inputs: str
    failed_by: tuple[str, ...]
    known: int

    def __str__(self) -> str:
        cost = "a distinction, which costs nothing" if self.bonus else f"costs at most {COSTS[self.category]:g} of 100"
        remedy = "check one of yours with --hidden"
        if not self.known:
            shown = f"No wrong answer to this exercise is known: {remedy}"
        elif self.failed_by:
            shown = f"Fails {len(self.failed_by)} of {self.known} known wrong answers: {'; '.join(self.failed_by)}"
        else:
            shown = f"Fails none of {self.known} known wrong answers: {remedy}"
        return f"{self.name}\n  category: {self.category} ({cost})\n  inputs: {self.inputs}\n  {shown}"


def tried(record: Exercise) -> Iterator[TriedCase]:
    """Each hidden case of the record. The bugs and mistakes that the record names are called on these cases alone, in
    this process: nothing of a learner's runs here.
    """
    cases = tuple(case for case in record.cases if case.hidden)
    alone = replace(record, cases=cases, wild=(), about=(), backends=("torch",), refused=frozenset())
    alone = replace(alone, most_bytes=None, large=None)
    failed = {bug.who.rstrip(","): _failed(check(alone, bug.function, "torch")) for bug in record.wild}
    for number, case in enumerate(record.cases):
        if case.hidden:
            args = arguments(case, number, 0)
            failed_by = tuple(who for who, names in failed.items() if case.name in names)
            category = record.category(case, args).value
            yield TriedCase(case.name, category, case.bonus, describe(record, args), failed_by, len(failed))


def _failed(report: Report) -> set[str]:
    return {case.name for case in report.cases if case.status != "pass"}
