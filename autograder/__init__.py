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

from typing import TYPE_CHECKING, Any

from .gpu import choose_interpreter, ensure_runnable
from .words import lazy_api

choose_interpreter()  # before anything here imports triton

if TYPE_CHECKING:
    from .exercises import elementwise, gradient, losses, normal, rowwise
    from .gpu import Emulator
    from .judge import (
        EXERCISES,
        Case,
        CommonMistake,
        Exercise,
        Output,
        Report,
        Tolerance,
        WildBug,
        Witness,
        also,
        case,
        check,
        compare,
        derived,
        draw,
        neighbours,
        ulp_error,
        ulp_size,
    )
    from .runner import CompareError, Peak

_name = lazy_api(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _name(name)
    except ModuleNotFoundError as missing:
        if missing.name == "triton":
            ensure_runnable("triton")
        raise
