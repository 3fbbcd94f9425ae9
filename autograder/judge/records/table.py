"""The table of exercises: every ``Exercise`` and ``Witness`` in this folder's modules, by name. A new module needs no
registration.
"""

import difflib
import importlib
import pkgutil
import traceback
from pathlib import Path

from .external_records import offers
from .record import Exercise, RecordError, Witness
from .validation import validate

EXERCISES: dict[str, Exercise | Witness] = {}

_HERE = Path(__file__)
ANSWERS = ("kernels", "solutions")


def _import_all() -> None:
    """Fills the table. Raises RecordError, with a line for each file that cannot be imported."""
    mistakes = []
    for module in sorted(m.name for m in pkgutil.iter_modules([str(_HERE.parent)]) if m.name != _HERE.stem):
        try:
            found = vars(importlib.import_module(f"{__package__}.{module}"))
        except RecordError as error:
            mistakes.append(str(error))
            continue
        except Exception as error:
            mistakes.append(f"{_place(error, module)}: {type(error).__name__}: {_words(error)}")
            continue
        for record in found.values():
            if isinstance(record, Exercise | Witness) and EXERCISES.setdefault(record.name, record) is not record:
                mistakes.append(
                    f"{_HERE.with_name(module)}.py:1: a second exercise is named {record.name!r}: rename it"
                )
    if mistakes:
        raise RecordError("\n".join(dict.fromkeys(mistakes)))  # an answer's mistake meets several records


def _place(error: Exception, module: str) -> str:
    """File and line at which the import of ``module`` failed: in its own text, or in an answer that is imported."""
    path = str(_HERE.with_name(f"{module}.py"))
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    authored = {path, *(str(one) for folder in ANSWERS for one in (_HERE.parents[2] / folder).rglob("*.py"))}
    places = [f"{one.filename}:{one.lineno}" for one in traceback.extract_tb(error.__traceback__)]
    return next((place for place in reversed(places) if place.rpartition(":")[0] in authored), f"{path}:1")


def _words(error: Exception) -> str:
    """What the error says, with the families that there are where one is unknown."""
    if isinstance(error, ImportError) and f"{__package__}.cases" in (error.name or ""):
        families = ", ".join(m.name for m in pkgutil.iter_modules([str(_HERE.with_name("cases"))]))
        return f"{error}; families of cases are in {families}"
    return error.msg if isinstance(error, SyntaxError) else str(error)


_import_all()


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
    close = difflib.get_close_matches(exercise, [*EXERCISES, *others], n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "graded-kernels list shows them all."
    raise ValueError(f"there is no exercise {exercise!r}; {hint}")


def offered() -> dict[str, Exercise | Witness]:
    """The records of installed packages, by name. Of one name the first counts, the course's own before all."""
    records = [record for offer in offers() for record in offer.records]
    return {record.name: record for record in reversed(records) if record.name not in EXERCISES}
