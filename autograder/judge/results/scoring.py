"""Points: a table of costs. A report is worth 100 points less the costs of what fails, each a line of the feedback, so
that a student can add them up. They follow from the cases' data alone: other costs check nothing again.

    the dearest category that fails       plain 30, effects 30, layouts 25, dtypes 20, edges 15
    a case of the point                   25 more; where all of them fail, at most 50 is left
    a case for a bug that shipped         at most 50 is left (a case of the point, or of the edges)
    fewer than two thirds of the plain    at most 40 is left
    cases right within 1 %
    fewer than a third                    nothing; or at most 40, where plain values are right up to one factor, without
                                          their upstream or their graph, or in some of the outputs
    the dearest form of a result          dtype 7, finished 7, error 10, shape 12, exchanged 50

A case fails for its values where they are wrong, where a GPU need not have them (`Rule.undefined`), and where there are
none: the answer raised, was refused or converted, or the case was not reached. Side effects of right values (an input
that is changed, a race, a result by the order of programs) cost no more than the category of their case, and miss no
point. Values are judged as if their form were right. A fix never costs points: each line depends on failing cases
alone, and falls away with them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...words import Quality
from ..records.category import Category, Flaw
from .case_result import CaseResult

EFFECTS, POINT, LIMIT = "effects", "point", "limit"
CATEGORIES = {"plain": 30.0, EFFECTS: 30.0, "layouts": 25.0, "dtypes": 20.0, "edges": 15.0}
FORMS = {"text": 0.0, "dtype": 7.0, "finished": 7.0, "error": 10.0, "shape": 12.0, "exchanged": 50.0}
COSTS: Mapping[str, float] = {**CATEGORIES, POINT: 25.0, **FORMS}
HALF, PARTLY = 50.0, 40.0  # points that are left at most

DEARER = "Of the categories the dearest alone costs."
MISSED = "No case of the point is right: at most half is left."
SHIPPED = "This case is there for a bug that shipped: at most half is left."
SOME_RIGHT = "Fewer than two thirds of the plain cases are right within 1 %: at most 40 is left."
FEW_RIGHT = "Fewer than a third of the plain cases are right within 1 %: nothing is left."
BUT_FOR = "Plain values are right up to {} alone: at most 40 is left."
OTHERS = "Plain values are right in some of the outputs alone: at most 40 is left."


@dataclass(frozen=True)
class Cost:
    """A line. name: what costs, of `COSTS`, or a limit. points: of 100. case: the first that shows it, and its message;
    no message of a limit. note: a sentence on how much that is, where the table alone does not say it.
    """

    name: str
    points: float
    case: str
    message: str
    note: str = ""


@dataclass(frozen=True)
class Points:
    """score: 0 to 1. costs: what the others went for, 100 · (1 - score) together."""

    score: float
    costs: tuple[Cost, ...] = ()


def changed_costs(changes: Mapping[str, Any]) -> dict[str, float]:
    """The costs, with these in place of the course's. Raises ValueError, which says what is wrong with them."""
    for name, cost in changes.items():
        if name not in COSTS:
            raise ValueError(f"there is no {name!r}; there are {', '.join(COSTS)}")
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost <= 100:
            raise ValueError(f"{name} is {cost!r}; give a number from 0 to 100")
    costs = {**COSTS, **changes}
    if (together := costs["plain"] + costs[POINT]) > 100:
        raise ValueError(f"plain and point are {together:g} together; give at most 100")
    return costs


def points_of(report: Mapping[str, Any], costs: Mapping[str, float] = COSTS) -> Points:
    """The points for a stored report (`ReportData.to_dict`)."""
    return points_for(map(CaseResult.stored, report["cases"]), report["required"], costs, report["up_to"])


def points_for(
    cases: Iterable[CaseResult], required: Iterable[str], costs: Mapping[str, float] = COSTS, up_to: str = ""
) -> Points:
    """The points for these cases. required: the qualities whose lack costs points. up_to: that of the `ReportData`."""
    asked = {None, *map(Quality, required)}
    left, lines = 100.0, []
    for row in _rows([case for case in cases if not case.bonus and case.kind in asked], costs, up_to):
        after = max(min(left - row.cost, row.most), 0.0)
        if after < left or row.name != LIMIT:
            message = "" if row.name == LIMIT else row.case.message
            lines.append(Cost(row.name, round(left - after, 4), row.case.name, message, row.note))
        left = after
    return Points(round(left / 100, 6), tuple(lines))


@dataclass(frozen=True)
class _Row:
    """A row of the table that holds. case: the first that shows it. cost: of what is left; most: that is left then."""

    name: str
    case: CaseResult
    cost: float = 0.0
    most: float = 100.0
    note: str = ""


def _rows(cases: Sequence[CaseResult], costs: Mapping[str, float], up_to: str) -> Iterator[_Row]:
    """The rows that hold for these cases."""
    if whole := [case for case in cases if case.flaw is Flaw.WHOLE]:
        yield _Row("answer", whole[0], most=0.0)
    elif suspects := list(dict.fromkeys(case.suspect for case in cases if case.suspect)):
        yield from _of_witnesses(cases, suspects)
    else:
        cases = [case for case in cases if case.category]
        failing = [case for case in cases if case.status != "pass"]
        wrong = [case for case in failing if case.flaw not in (Flaw.EFFECT, Flaw.FORM)]
        yield from _of_categories(wrong, [case for case in failing if case.flaw is Flaw.EFFECT], costs)
        yield from _of_point(cases, wrong, costs[POINT])
        yield from _of_plain_values(plain_values(cases), up_to)
        yield from _of_form(failing, costs)


def _of_witnesses(cases: Sequence[CaseResult], suspects: Sequence[str]) -> Iterator[_Row]:
    """An equal share of the points for each bug that an input does not show."""
    for suspect in suspects:
        failing = [case for case in cases if case.suspect == suspect and case.status != "pass"]
        yield from (_Row("witness", case, 100 / len(suspects)) for case in failing[:1])


def _of_categories(
    wrong: Sequence[CaseResult], effects: Sequence[CaseResult], costs: Mapping[str, float]
) -> Iterator[_Row]:
    """Each category in which a case fails, the dearest first, which alone costs."""
    first: dict[str, tuple[float, CaseResult]] = {}
    for case in wrong:
        if case.category is not Category.POINT:
            first.setdefault(str(case.category), (costs[str(case.category)], case))
    if effects:
        dearest = max(effects, key=lambda case: costs[str(case.category)])
        first[EFFECTS] = min(costs[EFFECTS], costs[str(dearest.category)]), dearest
    for number, (name, (cost, case)) in enumerate(sorted(first.items(), key=lambda item: -item[1][0])):
        yield _Row(name, case, note=DEARER) if number else _Row(name, case, cost)


def _of_point(cases: Sequence[CaseResult], wrong: Sequence[CaseResult], cost: float) -> Iterator[_Row]:
    """The point, of which all cases or some fail; and a case that is there for a bug that shipped."""
    missed = [case for case in wrong if case.category is Category.POINT]
    most, note = (100.0, "") if len(missed) < sum(case.category is Category.POINT for case in cases) else (HALF, MISSED)
    yield from (_Row(POINT, case, cost, most, note) for case in missed[:1])
    yield from (_Row(LIMIT, case, most=HALF, note=SHIPPED) for case in wrong if case.flaw is Flaw.SHIPPED)


def plain_values(cases: Iterable[CaseResult]) -> list[CaseResult]:
    """The plain cases whose values were compared. A teacher's own are not among them."""
    return [case for case in cases if case.category is Category.PLAIN and case.near is not None and not case.hidden]


def _of_plain_values(plain: Sequence[CaseResult], up_to: str) -> Iterator[_Row]:
    """A limit where few of the plain cases are right within 1 %."""
    off = [case for case in plain if case.near != 1]
    right, few = len(plain) - len(off), len(plain) / 3
    if right < few:
        partly = OTHERS if sum(bool(case.near) for case in plain) >= 2 * few else up_to and BUT_FOR.format(up_to)
        yield _Row(LIMIT, off[0], most=PARTLY if partly else 0.0, note=partly or FEW_RIGHT)
    elif right < 2 * few:
        yield _Row(LIMIT, off[0], most=PARTLY, note=SOME_RIGHT)


def _of_form(failing: Sequence[CaseResult], costs: Mapping[str, float]) -> Iterator[_Row]:
    """The form that costs most."""
    formed = sorted((case for case in failing if case.form), key=lambda case: -costs[case.form])
    yield from (_Row(case.form, case, costs[case.form]) for case in formed[:1])
