"""The table of what can be checked, by name: the course's records, and those of installed packages behind them."""

import difflib
from collections.abc import Collection

from .external_records import course_records, offers
from .record import Exercise, Witness
from .validation import validate


class Records(dict[str, Exercise | Witness]):
    """The course's records by name. Raises KeyError with the closest for a name that none has."""

    def __missing__(self, name: str) -> Exercise | Witness:
        raise KeyError(_unknown(name, self))


EXERCISES = Records({record.name: record for record in course_records()})


def find(exercise: str | Exercise | Witness) -> Exercise | Witness:
    """The record of this name, the course's or an installed package's; a record itself, if it has no mistake.

    Raises ValueError: for an unknown name one that names the closest, for a record with a mistake
    `RecordError`.
    """
    if not isinstance(exercise, str):
        validate(exercise)
        return exercise
    if exercise in EXERCISES:
        return EXERCISES[exercise]
    others = offered()
    if exercise in others:
        return others[exercise]
    raise ValueError(_unknown(exercise, [*EXERCISES, *others]))


def _unknown(name: object, names: Collection[str]) -> str:
    """A sentence about a name that no record has, with those that begin with it, as silu_forward, or are close."""
    close = [known for known in names if known.startswith(f"{name}_")][:4]
    close = close or difflib.get_close_matches(str(name), names, n=3)
    all_of_them = "graded-kernels list shows them all; any other function: graded-kernels compare."
    hint = f"did you mean {' or '.join(close)}?" if close else all_of_them
    return f"there is no exercise {name!r}; {hint}"


def offered() -> dict[str, Exercise | Witness]:
    """The records of installed packages, by name. Of one name the first counts, the course's own before all."""
    records = [record for offer in offers() for record in offer.records]
    return {record.name: record for record in reversed(records) if record.name not in EXERCISES}
