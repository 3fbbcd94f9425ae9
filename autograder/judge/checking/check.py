"""The check: one engine for the notebook cell, the grader and pytest. Each function imports what it needs when it is
called, PyTorch and Triton among it.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from ...runner import runner_of
from ...words import Quality

if TYPE_CHECKING:
    from ...runner import Answer, Budget, Limits, Worker
    from ..records.record import Case, Exercise, Witness
    from ..records.settings import Settings
    from ..report.report import Report
    from ..results.data import ReportData

_failed: Counter[tuple[str, str]] = Counter()  # checks in this process, by exercise and backend


def check(
    exercise: "str | Exercise | Witness",
    function: Callable[..., Any],
    backend: str | None = None,
    *,
    seed: int = 0,
    compiler: bool = True,
    targets: str | Iterable[str] = "sm_90",
    require: Iterable[str] = tuple(Quality),
    conventions: str = "course",
    hints_after: int = 0,
) -> "Report":
    """Checks ``function`` as an answer to ``exercise`` and says what it found.

    exercise: a name of ``graded-kernels list``, or a record of one's own. backend: ``"torch"`` or ``"triton"``; where
    it is left out, the one that the exercise has, or ``"triton"`` if the function's module holds Triton kernels.
    seed: of the random inputs. compiler: whether a Triton answer that is right so far is compiled, too, for the GPUs
    that ``targets`` names: one or several of sm_80, sm_90, sm_100 and gfx942, or ``"all"``.
    require: of ``"correct"``, ``"portable"`` and ``"efficient"`` (`quality.Quality`) those that decide ``passed``.
    conventions: ``"course"``, or ``"pytorch"``, which takes PyTorch's own answer for right as well in the cases that
    rest on a convention (infinity, no token, a bad label, an empty row), wherever PyTorch has one.
    hints_after: how many failed checks of the exercise, in this process, have reports without hints.
    The function is called in this process, on copies of its inputs. The report is true if every case but the
    distinctions passed, as far as it is required. Raises TypeError for arguments of another kind, ValueError for an
    unknown exercise, quality, convention or GPU, or a backend the exercise does not have, and RuntimeError where Triton
    kernels cannot run. Where nbgrader itself runs the notebook (``nbgrader validate``), a failed check raises
    AssertionError: nbgrader takes silence for success.
    """
    _import_engine()
    from ...runner import for_a_reader
    from ...words import Progress
    from ..records.settings import Settings
    from ..records.table import find
    from ..report.report import Report
    from .device_and_emulator import combined, emulated
    from .judge import judge

    _check_arguments(exercise, function, hints_after)
    record = find(exercise)
    settings = Settings(choose_backend(record, backend, function), seed, compiler, targets, require, conventions)
    judged = partial(judge, record, settings=settings)
    with for_a_reader(record.name), Progress(record.name) as progress:
        runner = runner_of(function, record.contract, settings.backend)
        data = judged(runner, at=progress.at)
        if twin := runner.facts.in_emulator:
            data = combined(data, emulated(twin, partial(judged, at=progress.at)))
    report = Report.of(_with_hints_later(data, hints_after))
    if not report.passed and "NBGRADER_EXECUTION" in os.environ:
        raise AssertionError(str(report))
    return report


def _check_arguments(exercise: object, function: object, hints_after: object) -> None:
    """Raises TypeError where the first two are exchanged, or one of the three is of another type."""
    from ..records.record import Exercise, Witness

    if callable(exercise) and isinstance(function, str):
        raise TypeError(f'check takes the exercise first: check("{function}", {getattr(exercise, "__name__", "f")})')
    if not callable(function):
        kind = type(function).__name__
        raise TypeError(f"check takes the function itself, check({exercise!r}, my_function), and {kind} is none")
    if not isinstance(exercise, str | Exercise | Witness):
        kind = type(exercise).__name__
        raise TypeError(f"check takes an exercise by its name, or its record, and then the function; {kind} is neither")
    if not isinstance(hints_after, int):
        raise TypeError(f"hints_after is a number of failed checks, not {hints_after!r}")


@cache
def _import_engine() -> None:
    """Imports what every check needs, in somebody's notebook. A full look of Python's garbage collector meanwhile would
    take a sixth of the first check.
    """
    from ...words import no_garbage

    with no_garbage(for_good=False):
        from ..records import table  # noqa: F401
        from ..report import report  # noqa: F401
        from . import device_and_emulator, judge  # noqa: F401


def _with_hints_later(data: "ReportData", after: int) -> "ReportData":
    """``found``; if it is among the first ``after`` of its exercise that failed, with a sentence in place of hints."""
    key = (data.exercise, data.backend)
    _failed[key] += not data.passed
    if data.passed or _failed[key] > after:
        return data
    said = f"Hints come after {after} failed {'check' if after == 1 else 'checks'} of this exercise; this is number "
    said += f"{_failed[key]}."
    return replace(data, cases=tuple(replace(case, hint=said if case.hint else "") for case in data.cases))


def check_answer(
    answer: "Answer",
    settings: "Settings",
    *,
    worker: "Worker | None" = None,
    limits: "Limits | None" = None,
    notebook: "Budget | None" = None,
    cases: "tuple[Case, ...]" = (),
    record: "Exercise | Witness | None" = None,
    at: "Callable[[str], None]" = lambda where: None,
) -> "Report":
    """Checks an answer that is code, not yet a function. One that cannot be loaded gets a report that says why.

    worker: runs the answer apart from this process, within ``limits`` and what is left of the ``notebook``'s budget;
    without one it runs here. cases: an instructor's own, after those of the exercise. record: of the exercise, where
    it is in no table. at: is called with what is checked next.
    """
    from ...runner import InProcess, Isolated, Limits
    from ..records.record import Exercise
    from ..records.table import find
    from ..report.report import Report
    from .judge import judge

    record = find(record or answer.exercise)
    if cases and isinstance(record, Exercise):
        record = record.with_cases(cases)
    judged, backend = partial(judge, record, settings=settings, at=at), settings.backend
    if worker:
        limits = limits or Limits()
        with Isolated(answer, record.contract, backend, worker=worker, limits=limits, notebook=notebook) as isolated:
            return Report.of(judged(isolated))
    return Report.of(judged(InProcess.of(answer, record.contract, backend)))


def choose_backend(record: "Exercise | Witness", backend: str | None, function: Callable[..., Any] | None) -> str:
    """The backend that was asked for, or the likely one where none was. Raises ValueError where the exercise does not
    have it.
    """
    if backend is None:
        if len(record.backends) == 1:
            return record.backends[0]
        names = getattr(function, "__globals__", {}).values()
        return "triton" if any(type(v).__module__.startswith("triton.runtime") for v in names) else "torch"
    if backend not in record.backends:
        raise ValueError(f"{record.name} is answered in {' and '.join(record.backends)}, not in {backend!r}")
    return backend
