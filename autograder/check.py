"""The check: one engine for the notebook cell, the grader and pytest. A runner gives outputs; they are judged here."""

import os
import platform
from importlib import metadata

import torch

from .case import Judged, judge_case
from .cost import judge_compile, judge_memory, judge_traffic
from .emulator import CANNOT_SHOW
from .exercise import Case, Exercise, Witness
from .exercises import find
from .fingerprint import fingerprint
from .hidden import veiled, with_cases
from .report import CaseResult, Report
from .runner import InProcess, Runner, Trouble, Unloadable
from .sandbox import Budget, Isolated, Limits, Worker
from .side_by_side import beside, emulated
from .source import Answer, AnswerError, AnswerRefused, load
from .witness import judge_witness

FINAL = ("stub", "refused", "unloadable")  # troubles of the whole answer: no other case can go better


def check(exercise: str, function, backend: str | None = None, *, seed: int = 0, compiler: bool = True) -> Report:
    """Checks ``function`` as an answer to ``exercise`` and says what it found.

    exercise: a name of ``graded-kernels list``. backend: ``"torch"`` or ``"triton"``; where it is left out, the one
    that the exercise has, or ``"triton"`` if the function's module holds Triton kernels. seed: of the random inputs.
    compiler: whether a Triton answer that is right so far is compiled ahead of time for GPUs, too.
    The function is called in this process, on copies of its inputs. The report is true if every case but the
    distinctions passed. Raises ValueError for an unknown exercise or a backend the exercise does not have, and
    RuntimeError where Triton kernels can run in no way. Where nbgrader itself runs the notebook
    (``nbgrader validate``), a failed check raises AssertionError: nbgrader takes silence for success.
    """
    record = find(exercise)
    backend = choose_backend(record, backend, function)
    report = judge(record, backend, InProcess(function, record, backend), seed=seed, compiler=compiler)
    if report.environment["mode"] == "device" and backend == "triton":
        again = emulated(function, record, lambda runner: judge(record, backend, runner, seed=seed, compiler=compiler))
        report = beside(report, again)
    if not report.passed and "NBGRADER_EXECUTION" in os.environ:
        raise AssertionError(str(report))
    return report


def check_answer(
    answer: Answer,
    backend: str,
    *,
    seed: int = 0,
    compiler: bool = True,
    worker: Worker | None = None,
    limits: Limits | None = None,
    notebook: Budget | None = None,
    cases: tuple[Case, ...] = (),
) -> Report:
    """Checks an answer that is code, not yet a function. One that cannot be loaded gets a report that says why.

    worker: runs the answer apart from this process, within ``limits`` and what is left of the ``notebook``'s budget;
    without one it runs here. cases: an instructor's own (`hidden`), after those of the exercise.
    """
    record = find(answer.exercise)
    record = with_cases(record, cases) if cases else record
    if worker:
        limits = limits or Limits()
        with Isolated(answer, record, backend, worker=worker, limits=limits, notebook=notebook) as runner:
            return judge(record, backend, runner, seed=seed, compiler=compiler)
    try:
        runner = InProcess(load(answer), record, backend)
    except AnswerError as error:
        kind = "refused" if isinstance(error, AnswerRefused) else "unloadable"
        runner = Unloadable(Trouble(kind, str(error), error.details))
    return judge(record, backend, runner, seed=seed, compiler=compiler)


def choose_backend(record: Exercise | Witness, backend: str | None, function) -> str:
    if backend is None:
        if len(record.backends) == 1:
            return record.backends[0]
        names = getattr(function, "__globals__", {}).values()
        return "triton" if any(type(v).__module__.startswith("triton.runtime") for v in names) else "torch"
    if backend not in record.backends:
        raise ValueError(f"{record.name} is answered in {' and '.join(record.backends)}, not in {backend!r}")
    return backend


def judge(record: Exercise | Witness, backend: str, runner: Runner, *, seed: int = 0, compiler: bool = True) -> Report:
    """The report on whatever ``runner`` calls. Nothing the runner hands back is believed before it is compared."""
    judged = (
        judge_witness(record, runner) if isinstance(record, Witness) else _judge_cases(record, backend, runner, seed)
    )
    cases, troubles = [j.result for j in judged], [j.trouble for j in judged if j.trouble]
    stopped = next((trouble for trouble in troubles if trouble.kind in FINAL), None)
    traffic = compiled = None
    if isinstance(record, Exercise) and not stopped:
        cases += judge_memory(record, judged)
    if backend == "triton" and not stopped:
        traffic, more = judge_traffic(record, judged)
        cases += more
    if backend == "triton" and compiler and _all_right(cases):
        compiled, more = judge_compile(_launches(judged))
        cases += more
    needed = [c for c in cases if not c.bonus and c.status != "not-run"]
    unreached = [j.result for j in judged if j.result.status == "not-run" and not j.result.bonus]
    passed = not stopped and bool(needed) and _all_right(cases)
    bug = None
    if isinstance(record, Exercise) and not stopped:
        # Distinctions are left out: there an answer may fail by rounding alone, and no bug explains rounding.
        telling = [(j.args, j.evidence) for j in judged if j.evidence and not j.result.bonus]
        bug = fingerprint(record, telling, frozenset(c.name for c in cases if c.status in ("fail", "error")))
    return Report(
        exercise=record.name,
        backend=backend,
        passed=passed,
        score=0.0 if stopped else _score(record, needed, unreached),
        cases=tuple(cases),
        summary=_summary(stopped, needed),
        fingerprint=f"this is what {bug.who} computed ({bug.thread})" if bug else None,
        fingerprint_story=bug.story if bug else "",
        traffic=traffic,
        compile=compiled,
        environment=environment(runner) | ({} if isinstance(record, Witness) else {"seed": seed}),
        notes=_notes(judged) if backend == "triton" else (),
        timed_out=any(t.kind == "timeout" for t in troubles),
        stopped_in=next(({"cell": t.cell, "reason": t.message} for t in troubles if t.cell), None),
    )


def _judge_cases(record: Exercise, backend: str, runner: Runner, seed: int) -> list[Judged]:
    """Every case in order; after a trouble that no other case can mend, or that takes its time, the rest is not run."""
    judged: list[Judged] = []
    for number, case in enumerate(record.cases):
        one = judge_case(record, case, backend, runner, arguments(case, number, seed))
        judged.append(veiled(record, one) if case.hidden else one)
        if one.trouble and _is_last(case, one.trouble):
            return judged + [_unreached(record, later, seed) for later in range(number + 1, len(record.cases))]
    return judged


def arguments(case: Case, number: int, seed: int) -> tuple:
    """What an exercise's case of this number is called with: other random numbers for every seed."""
    return case.inputs(torch.Generator().manual_seed(seed * 1000 + number))


def _unreached(record: Exercise, number: int, seed: int) -> Judged:
    """A case that is not run, with its arguments, by which `cost` knows whether it was the one to measure."""
    case = record.cases[number]
    result = CaseResult(case.name, "not-run", case.bonus, "The answer was not called again.", "")
    return Judged(result, args=() if case.hidden else arguments(case, number, seed))


def _is_last(case: Case, trouble: Trouble) -> bool:
    """Whether the answer is not called again. What it earned before a time-out it keeps."""
    return trouble.kind in FINAL or bool(trouble.cell) or (trouble.kind == "timeout" and not case.bonus)


def _all_right(cases: list[CaseResult]) -> bool:
    return all(c.status in ("pass", "not-run") for c in cases if not c.bonus)


def _launches(judged: list[Judged]) -> list:
    return [launch for j in judged if j.outcome for launch in j.outcome.launches]


def _notes(judged: list[Judged]) -> tuple[str, ...]:
    """What the emulator cannot show of the operations that the launches used, in the order of `CANNOT_SHOW`."""
    used = {operation for j in judged if j.outcome for operation in j.outcome.looser}
    return tuple(sentence for operation, sentence in CANNOT_SHOW if operation in used)


def _score(record: Exercise | Witness, needed: list[CaseResult], unreached: list[CaseResult]) -> float:
    """The share of cases passed; nothing where the first one fails, which any attempt at the formula passes."""
    if not needed or needed[0].status != "pass":
        return 0.0
    passed = sum(c.status == "pass" for c in needed)
    total = len(needed) + len(unreached)
    return passed / total if isinstance(record, Exercise) else float(passed == total)


def _summary(stopped, needed: list[CaseResult]) -> str:
    if stopped:
        return stopped.message
    wrong = [c for c in needed if c.status != "pass"]
    if not wrong:
        return "passed"
    return f"{len(wrong)} of {len(needed)} cases fail, the first is “{wrong[0].name}”"


def environment(runner: Runner) -> dict[str, str]:
    """What the check ran on: versions, device, and how Triton kernels were run. In the sandbox there is no GPU."""
    from .interpret import mode

    def version(package: str) -> str:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return "not installed"

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": version("triton"),
        "device": device,
        "mode": "emulator" if isinstance(runner, Isolated) else mode(),
    }
