"""The grader, for everybody outside it: chapters, teachers, other projects. Names stay here; modules may move.

check(exercise, function, backend=...)   a `Report`
compare(reference, candidate, arguments) the same for any function, judged by its reference
neighbours(function, arguments, batch)   whether a row's result depends on the rows beside it
EXERCISES                                the table of what can be checked
Emulator                                 runs Triton kernels as a GPU may, and notes what they do
Peak                                     counts the bytes that tensors take at once
ulp_error, ulp_size                      distances in units in the last place

For an op of one's own, which `check` takes in place of a name:
Exercise, Case, Output, Tolerance        the record: what the function is, its inputs, its results, how close is right
derived                                  a tolerance that is estimated from the formula
Witness, WildBug, CommonMistake          an input to find, a bug that shipped, one that many write
case, draw, also                         a case whose arguments are named, and drawn in words that combine
elementwise, rowwise, losses             families of cases
normal, gradient                         random tensors for a case, an upstream gradient among them
"""

import importlib
from typing import TYPE_CHECKING, Any

from .gpu.interpret import choose

choose()  # before anything here imports triton

from .judge.checking.check import check  # noqa: E402

if TYPE_CHECKING:
    from .exercises.cases.elementwise import elementwise, gradient, normal
    from .exercises.cases.losses import losses
    from .exercises.cases.rows import rowwise
    from .gpu.emulator import Emulator
    from .judge.neighbours import neighbours
    from .judge.records.derived import derived
    from .judge.records.inputs import also, case, draw
    from .judge.records.record import Case, CommonMistake, Exercise, Output, Tolerance, WildBug, Witness
    from .judge.records.table import EXERCISES
    from .judge.records.ulp import ulp_error, ulp_size
    from .judge.report.report import Report
    from .judge.side_by_side import CompareError, compare
    from .runner.call.peak_memory import Peak

__all__ = ["EXERCISES", "Emulator", "Peak", "Report", "check", "ulp_error", "ulp_size"]
__all__ += ["Case", "CommonMistake", "Exercise", "Output", "Tolerance", "WildBug", "Witness"]
__all__ += ["also", "case", "draw"]
__all__ += [
    "CompareError",
    "compare",
    "derived",
    "elementwise",
    "gradient",
    "losses",
    "neighbours",
    "normal",
    "rowwise",
]

_HOME = {"EXERCISES": "judge.records.table", "Emulator": "gpu.emulator", "Peak": "runner.call.peak_memory"}
_HOME |= {"Report": "judge.report.report", "ulp_error": "judge.records.ulp", "ulp_size": "judge.records.ulp"}
_HOME |= dict.fromkeys(
    ("Case", "CommonMistake", "Exercise", "Output", "Tolerance", "WildBug", "Witness"), "judge.records.record"
)
_HOME |= dict.fromkeys(("elementwise", "gradient", "normal"), "exercises.cases.elementwise")
_HOME |= dict.fromkeys(("also", "case", "draw"), "judge.records.inputs")
_HOME |= dict.fromkeys(("CompareError", "compare"), "judge.side_by_side")
_HOME |= {"neighbours": "judge.neighbours"}
_HOME |= {"derived": "judge.records.derived", "losses": "exercises.cases.losses", "rowwise": "exercises.cases.rows"}


def __getattr__(name: str) -> Any:
    """Imports what is asked for, and no more: `graded-kernels --help` does not wait for PyTorch and Triton."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    except ModuleNotFoundError as missing:
        if missing.name == "triton":
            from .gpu.interpret import ensure_runnable

            ensure_runnable("triton")
        raise
