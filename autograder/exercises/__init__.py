"""The table of exercises: every ``Exercise`` and ``Witness`` in this folder's modules, by name. A new module needs no
registration.
"""

import importlib
import pkgutil

from ..exercise import Exercise, Witness

EXERCISES: dict[str, Exercise | Witness] = {}

for _module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
    for _record in vars(importlib.import_module(f"{__name__}.{_module}")).values():
        if isinstance(_record, Exercise | Witness):
            if EXERCISES.setdefault(_record.name, _record) is not _record:
                raise ValueError(f"two exercises are named {_record.name!r}; the second is in {_module}.py")
