"""The verdict: a runner calls the answer on every case, and what comes back is judged here."""

import platform
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import metadata

import torch

from ..compiler import DEFAULT, CannotCompile, KernelLaunch, is_new, targets_of
from ..emulator import CANNOT_SHOW
from ..exercises.record import MEMORY, Bug, Case, CommonMistake, Exercise, WildBug, Witness
from ..report.report import Report
from ..results.case_result import CaseResult
from ..results.points import points_of
from ..results.quality import Quality, qualities
from ..run.contract import Args
from ..run.interpret import mode
from ..run.outcome import Trouble
from ..run.runner import Runner
from ..run.threads import one_thread
from ..sandbox import Isolated
from ..sandbox.compiler import Compiler
from .case import UNJUDGED, Judged, judge_case
from .cost import Confined, Figures, compiler_of, judge_compile, judge_memory, judge_process, judge_traffic
from .fingerprint import fingerprint
from .known import arguments
from .veil import veiled
from .witness import judge_witness

CONVENTIONS = ("course", "pytorch")


@one_thread()
def judge(
    record: Exercise | Witness,
    backend: str,
    runner: Runner,
    *,
    seed: int = 0,
    compiler: bool = True,
    targets: str | Iterable[str] = DEFAULT,
    require: Iterable[str] = tuple(Quality),
    conventions: str = "course",
    at: Callable[[str], None] = lambda where: None,
) -> Report:
    """The report on whatever ``runner`` calls. Nothing that the runner returns is trusted before it is compared.

    targets: names of GPUs to compile for, or ``"all"`` (`compiler.TARGETS`). at: called with a description of what is
    being checked.
    """
    required, gpus = qualities(require), targets_of(targets)
    if conventions not in CONVENTIONS:
        raise ValueError(f"conventions are {' or '.join(map(repr, CONVENTIONS))}, not {conventions!r}")
    if backend == "triton" and compiler:
        own = compiler_of(runner)
        found = _examined(record, backend, runner, seed, conventions, required, at, _watch(own, runner))
        if not found.stopped and _all_right(found.cases, required):
            at("compiling for GPUs")
            found.compiled, more = judge_compile(_launches(found.judged), own, gpus)
            found.cases += more
    else:
        found = _examined(record, backend, runner, seed, conventions, required, at)
    where = environment(runner) | ({} if isinstance(record, Witness) else {"seed": seed})
    bug = _bug(record, found) if isinstance(record, Exercise) and not found.stopped else None
    answers = _answers(found.needed, shows_lanes=backend == "triton" and where["mode"] == "emulator")
    report = Report(
        exercise=record.name,
        backend=backend,
        passed=not found.stopped and bool(found.needed) and _all_right(found.cases, required),
        score=0.0,
        cases=tuple(found.cases),
        summary=_summary(found, required),
        fingerprint=bug.named if isinstance(bug, WildBug) else None,
        mistake=bug.named if isinstance(bug, CommonMistake) else "",
        fingerprint_story=bug.story if bug else "",
        traffic=found.traffic,
        compile=found.compiled,
        environment=where,
        notes=_notes(found.judged) if backend == "triton" else (),
        tolerance=_derived(record),
        correct=answers[Quality.CORRECT],
        portable=answers[Quality.PORTABLE],
        efficient=answers[Quality.EFFICIENT],
        required=required,
        conventions=conventions,
        timed_out=any(t.kind == "timeout" for t in found.troubles),
        stopped_in=next(({"cell": t.cell, "reason": t.message} for t in found.troubles if t.cell), None),
    )
    points = points_of(report.to_dict())
    return replace(report, score=points.score, split=tuple(points.parts), limit=points.limit)


def _examined(
    record: Exercise | Witness,
    backend: str,
    runner: Runner,
    seed: int,
    conventions: str,
    required: tuple[Quality, ...],
    at: Callable[[str], None],
    see: Callable[[Judged], None] = lambda judged: None,
) -> "_Found":
    """All but what compilers say. see: called with what came of each case."""
    if isinstance(record, Witness):
        return _Found(judge_witness(record, runner))
    found = _Found(_judge_cases(record, backend, runner, seed, conventions, at, see))
    if not found.stopped:
        _judge_cost(found, record, backend, runner, required)
    return found


def _watch(compiler: Compiler, runner: Runner) -> Callable[[Judged], None]:
    """Has the compiler's process start with the first launch of what was not compiled before: its imports take longer
    than most checks. Not where the answer has a compiler of its own, as those of a class have: they keep the machine
    busy, and it is started in vain for a wrong answer.
    """
    started = isinstance(runner, Isolated)

    def see(judged: Judged) -> None:
        nonlocal started
        for launch in judged.outcome.launches if judged.outcome and not started else ():
            if isinstance(launch, KernelLaunch) and is_new(launch):
                with suppress(CannotCompile):  # which the report will say
                    compiler.start()
            started = True
            break

    return see


class _Found:
    """What the judgements so far have found. cases: of ``judged``, and what the values do not show."""

    def __init__(self, judged: list[Judged]):
        self.judged = judged
        self.cases = [j.result for j in judged]
        self.troubles = [j.trouble for j in judged if j.trouble]
        self.traffic: Figures | None = None
        self.compiled: Figures | None = None

    @property
    def stopped(self) -> Trouble | None:
        """A trouble of the whole answer."""
        return next((trouble for trouble in self.troubles if trouble.kind in UNJUDGED), None)

    @property
    def needed(self) -> list[CaseResult]:
        return [c for c in self.cases if not c.bonus and c.status != "not-run"]


def _judge_cost(found: _Found, record: Exercise, backend: str, runner: Runner, required: tuple[Quality, ...]) -> None:
    """Adds what memory and traffic show."""
    found.cases += judge_memory(record, found.judged)
    if backend == "torch" and isinstance(runner, Confined) and _all_right(found.cases, required):
        held = judge_process(record, runner)
        if held:
            found.cases = [held.result if c.name == MEMORY else c for c in found.cases]
            found.troubles += [held.trouble] if held.trouble else []
    if backend == "triton":
        found.traffic, more = judge_traffic(record, found.judged)
        found.cases += more


def _bug(record: Exercise, found: _Found) -> Bug | None:
    """Whose bug it is. Distinctions are left out: there an answer may fail by rounding alone, and no bug explains
    rounding.
    """
    telling = [(j.args, j.evidence) for j in found.judged if j.evidence and not j.result.bonus]
    return fingerprint(record, telling, frozenset(c.name for c in found.cases if c.status in ("fail", "error")))


def _answers(needed: list[CaseResult], shows_lanes: bool) -> dict[Quality, bool | None]:
    """Whether the answer is correct, portable and efficient, each None where no case that ran could have shown it.

    shows_lanes: whether the calls themselves show what is not portable, as those in the emulator do.
    """
    failed = {c.kind for c in needed if c.status != "pass"}
    shown = {c.kind for c in needed if c.status == "pass"} | (failed & {Quality.PORTABLE})  # whose values are right
    called = None not in failed and (Quality.CORRECT in shown or Quality.PORTABLE in failed)
    judged = {
        Quality.CORRECT: called,
        Quality.PORTABLE: Quality.PORTABLE in shown or (called and shows_lanes),
        Quality.EFFICIENT: Quality.EFFICIENT in shown,
    }
    return {quality: False if quality in failed else judged[quality] or None for quality in Quality}


def _judge_cases(
    record: Exercise,
    backend: str,
    runner: Runner,
    seed: int,
    conventions: str,
    at: Callable[[str], None],
    see: Callable[[Judged], None],
) -> list[Judged]:
    """Every case in order; after a trouble that no other case can mend, or that takes its time, the rest is not run."""
    judged: list[Judged] = []
    given = partial(arguments, seed=seed, keep=isinstance(runner, Isolated))
    for number, case in enumerate(record.cases):
        at(f"case {number + 1} of {len(record.cases)}, {'one of your teacher' if case.hidden else case.name}")
        first = not any(j.result.curve and len(j.result.curve.x) for j in judged)  # of what passes, no other is drawn
        one = judge_case(record, case, backend, runner, given(case, number), conventions, first)
        judged.append(veiled(record, one) if case.hidden else one)
        see(judged[-1])
        if one.trouble and _is_last(case, one.trouble):
            return judged + [_unreached(record, later, given) for later in range(number + 1, len(record.cases))]
    return judged


def _unreached(record: Exercise, number: int, given: Callable[[Case, int], Args]) -> Judged:
    """A case that is not run, with its arguments, by which `cost` knows whether it was the one to measure."""
    case = record.cases[number]
    args = given(case, number)
    result = CaseResult(
        case.name,
        "not-run",
        case.bonus,
        "The answer was not called again.",
        "",
        convention=case.convention,
        aim=record.aim(case, args),
    )
    return Judged(result, args=() if case.hidden else args)


def _is_last(case: Case, trouble: Trouble) -> bool:
    """Whether the answer is not called again. What it earned before a time-out it keeps."""
    return trouble.kind in UNJUDGED or bool(trouble.cell) or (trouble.kind == "timeout" and not case.bonus)


def _all_right(cases: list[CaseResult], required: tuple[Quality, ...]) -> bool:
    return all(c.status == "not-run" or _counts_as_right(c, required) for c in cases if not c.bonus)


def _counts_as_right(case: CaseResult, required: tuple[Quality, ...]) -> bool:
    """Whether it passed, or lacks a quality that is not asked for."""
    return case.status == "pass" or (case.kind is not None and case.kind not in required)


def _launches(judged: list[Judged]) -> list[KernelLaunch | str]:
    return [launch for j in judged if j.outcome for launch in j.outcome.launches]


def _derived(record: Exercise | Witness) -> str:
    """Where the tolerance comes from, if it is an estimate."""
    return record.tolerance.reason if isinstance(record, Exercise) and record.tolerance.estimated else ""


def _notes(judged: list[Judged]) -> tuple[str, ...]:
    """What the emulator cannot show of the operations that the launches used, in the order of `CANNOT_SHOW`."""
    used = {operation for j in judged if j.outcome for operation in j.outcome.looser}
    return tuple(sentence for operation, sentence in CANNOT_SHOW if operation in used)


def _summary(found: _Found, required: tuple[Quality, ...]) -> str:
    if found.stopped:
        return found.stopped.place + found.stopped.message
    wrong = [c for c in found.needed if not _counts_as_right(c, required)]
    if not wrong:
        return "passed"
    return f"{len(wrong)} of {len(found.needed)} cases fail, the first is “{wrong[0].name}”"


def environment(runner: Runner | None = None) -> dict[str, str]:
    """What the check ran on: versions, device, and how Triton kernels were run. In the sandbox there is no GPU."""

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
