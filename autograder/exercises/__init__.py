"""The table of exercises: every ``Exercise`` and ``Witness`` in this folder's modules, by name. A new module needs no
registration.
"""

import difflib
import importlib
import pkgutil

from .record import Exercise, Witness

EXERCISES: dict[str, Exercise | Witness] = {}

for _module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
    for _record in vars(importlib.import_module(f"{__name__}.{_module}")).values():
        if isinstance(_record, Exercise | Witness):
            if EXERCISES.setdefault(_record.name, _record) is not _record:
                raise ValueError(f"two exercises are named {_record.name!r}; the second is in {_module}.py")


def find(exercise: str) -> Exercise | Witness:
    """The record of this name. Raises ValueError that names the closest ones."""
    if exercise not in EXERCISES:
        close = difflib.get_close_matches(exercise, EXERCISES, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "graded-kernels list shows them all."
        raise ValueError(f"there is no exercise {exercise!r}; {hint}")
    return EXERCISES[exercise]
