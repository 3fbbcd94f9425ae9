"""The grader, for everybody outside it: chapters, teachers, other projects. Names stay here; modules may move.

check(exercise, function, backend=...)   a `Report`
EXERCISES                                the table of what can be checked
Emulator                                 runs Triton kernels as a GPU may, and notes what they do
Peak                                     counts the bytes that tensors take at once
ulp_error, ulp_size                      distances in units in the last place
"""

import importlib
from typing import TYPE_CHECKING

from .run.interpret import choose

choose()  # before anything here imports triton

from .check import check  # noqa: E402

if TYPE_CHECKING:
    from .emulator import Emulator
    from .exercises import EXERCISES
    from .report.report import Report
    from .run.memory import Peak
    from .ulp import ulp_error, ulp_size

__all__ = ["EXERCISES", "Emulator", "Peak", "Report", "check", "ulp_error", "ulp_size"]

_HOME = {"EXERCISES": "exercises", "Emulator": "emulator", "Peak": "run.memory", "Report": "report.report"}
_HOME |= {"ulp_error": "ulp", "ulp_size": "ulp"}


def __getattr__(name: str):
    """Imported when asked for: PyTorch and Triton take seconds, which `graded-kernels --help` has no use for."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
