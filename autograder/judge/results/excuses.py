"""What makes many failures one: right up to a factor everywhere, wrong in the same outputs everywhere, or wrong with
one word among the arguments. An account that leaves such cases out leaves less of the rest instead, and the best of all
accounts is what a report is worth.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ..records.aim import EACH, ONE, Aim, Flaw

UP_TO = 40.0  # points that are left at most
OUTPUTS = 0.8  # of the share of the outputs, or of the functions that a word tells apart, that are right everywhere
ALIKE = 0.03  # how far, relatively, the factors of two cases may lie apart
FEWEST = 4  # cases that are right up to one factor
MOST = 6  # names of outputs, of which any may be wrong together
ALL_BUT = "All is right up to {}: at most {:.0f} are left."
OTHERS = "Wrong {} costs the same however many cases show it: {:.0f} of 100 are left of what the others are worth."
VALUES = (Flaw.NUMBERS, Flaw.SPECIAL)

CaseFields = Mapping[str, Any]


@dataclass(frozen=True)
class Excuse:
    """Failing cases that are not counted one by one. most: the points that are left instead. share: what is left of
    those that the other cases leave. sentence: why.
    """

    names: frozenset[str]
    sentence: str
    most: float = 100.0
    share: float = 1.0


def excuses(cases: list[CaseFields]) -> Iterator[Excuse]:
    """All that there are."""
    yield from _factors(cases)
    yield from _outputs(cases)
    yield from _one_variant(cases)


def _factors(cases: list[CaseFields]) -> Iterator[Excuse]:
    """Where all plain cases whose numbers are wrong are right up to one factor. That each call has one of its own, a
    case of few distinct numbers does not show, and is not against it.
    """
    failing = {case["name"] for case in cases if case["aim"] == Aim.PLAIN and case["flaw"] == Flaw.NUMBERS}
    found: dict[frozenset[str], str] = {}
    for name, factor in (one for case in cases for one in case["up_to"]):
        shown = {case["name"] for case in cases if _is_up_to(case, name, factor)}
        fitting = shown | {case["name"] for case in cases if name == EACH and ONE in dict(case["up_to"])}
        if len(shown) >= FEWEST and failing <= fitting:
            found.setdefault(frozenset(fitting), name)
    for same, name in found.items():
        yield Excuse(same, ALL_BUT.format(name, UP_TO), most=UP_TO)


def _is_up_to(case: CaseFields, name: str, factor: float) -> bool:
    return any(own == name and abs(by - factor) <= ALIKE * abs(factor) for own, by in case["up_to"])


def _outputs(cases: list[CaseFields]) -> Iterator[Excuse]:
    """Where outputs are wrong and others are right."""
    failing = [case for case in cases if case["wrong"] and case["flaw"] in VALUES]
    names = sorted({name for case in failing for name in case["wrong"]})
    every = max((len(case["wrong"]) + case["right"] for case in failing), default=0)
    fewest = 1 if len(names) <= MOST else len(names)
    for count in range(fewest, min(len(names) + 1, every)):
        for outputs in combinations(names, count):
            same = frozenset(case["name"] for case in failing if set(case["wrong"]) <= set(outputs))
            yield _others(same, " and ".join(outputs), count / every)


def _one_variant(cases: list[CaseFields]) -> Iterator[Excuse]:
    """Where a word among the arguments says which function is asked for, and one of them is wrong, but not the first
    of the others.
    """
    words = sorted({case["word"] for case in cases if case["word"]})
    for word in words:
        other = next((case for case in cases if case["word"] not in ("", word)), None)
        if other and other["near"] == 1:
            same = frozenset(case["name"] for case in cases if case["word"] == word and case["flaw"] in VALUES)
            yield _others(same, f"results with {word!r}", 1 / len(words))


def _others(same: frozenset[str], wrong: str, part: float) -> Excuse:
    """Where ``part`` of what is asked for is wrong, in ``same`` cases."""
    share = min(OUTPUTS * (1 - part), UP_TO / 100)
    return Excuse(same, OTHERS.format(wrong, 100 * share), share=share)
