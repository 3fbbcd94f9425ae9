"""The table of exercises: every ``Exercise`` and ``Witness`` in this folder's modules, by name. A new module needs no
registration.
"""

import difflib
import importlib
import pkgutil
from pathlib import Path

from .external_records import offers
from .record import Exercise, Witness
from .validation import validate

EXERCISES: dict[str, Exercise | Witness] = {}

_HERE = Path(__file__)

for _module in sorted(m.name for m in pkgutil.iter_modules([str(_HERE.parent)]) if m.name != _HERE.stem):
    for _record in vars(importlib.import_module(f"{__package__}.{_module}")).values():
        if isinstance(_record, Exercise | Witness):
            if EXERCISES.setdefault(_record.name, _record) is not _record:
                raise ValueError(f"two exercises are named {_record.name!r}; the second is in {_module}.py")


def find(exercise: str | Exercise | Witness) -> Exercise | Witness:
    """The record of this name, the course's or an installed package's; a record itself, if it has no mistake.

    Raises ValueError: for an unknown name one that names the closest, for a record with a mistake
    `validation.RecordError`.
    """
    if not isinstance(exercise, str):
        validate(exercise)
        return exercise
    if exercise in EXERCISES:
        return EXERCISES[exercise]
    others = offered()
    if exercise in others:
        return others[exercise]
    close = difflib.get_close_matches(exercise, [*EXERCISES, *others], n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "graded-kernels list shows them all."
    raise ValueError(f"there is no exercise {exercise!r}; {hint}")


def offered() -> dict[str, Exercise | Witness]:
    """The records of installed packages, by name. Of one name the first counts, the course's own before all."""
    records = [record for offer in offers() for record in offer.records]
    return {record.name: record for record in reversed(records) if record.name not in EXERCISES}
