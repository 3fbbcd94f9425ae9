"""The course's records, gathered: every ``Exercise`` and ``Witness`` in this folder's modules. A new module needs no
registration. The grader finds ``RECORDS`` as it finds the records of any package, by an entry point of the group
``graded_kernels.exercises``.
"""

import importlib
import pkgutil
import traceback
from pathlib import Path

from ..judge import Exercise, RecordError, Witness

_HERE = Path(__file__)
_ANSWERS = ("kernels", "solutions")


def _gathered() -> tuple[Exercise | Witness, ...]:
    """Raises RecordError, with a line for each file that cannot be imported or repeats a name."""
    records: dict[str, Exercise | Witness] = {}
    mistakes = []
    for module in sorted(m.name for m in pkgutil.iter_modules([str(_HERE.parent)]) if m.name != _HERE.stem):
        try:
            contents = vars(importlib.import_module(f"{__package__}.{module}"))
        except RecordError as error:
            mistakes.append(str(error))
            continue
        except Exception as error:
            mistakes.append(f"{_place(error, module)}: {type(error).__name__}: {_message(error)}")
            continue
        for record in contents.values():
            if isinstance(record, Exercise | Witness) and records.setdefault(record.name, record) is not record:
                mistakes.append(
                    f"{_HERE.with_name(module)}.py:1: a second exercise is named {record.name!r}: rename it"
                )
    if mistakes:
        raise RecordError("\n".join(dict.fromkeys(mistakes)))  # an answer's mistake meets several records
    return tuple(records.values())


def _place(error: Exception, module: str) -> str:
    """File and line at which the import of ``module`` failed: in its own text, or in an answer that is imported."""
    path = str(_HERE.with_name(f"{module}.py"))
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    authored = {path, *(str(file) for folder in _ANSWERS for file in (_HERE.parents[2] / folder).rglob("*.py"))}
    places = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    return next((place for place in reversed(places) if place.rpartition(":")[0] in authored), f"{path}:1")


def _message(error: Exception) -> str:
    """Returns what the error says, with the families that there are where one is unknown."""
    if isinstance(error, ImportError) and "exercises.cases" in (error.name or ""):
        return f"{error}; families of cases are in elementwise, losses, rows"
    return error.msg if isinstance(error, SyntaxError) else str(error)


RECORDS = _gathered()
