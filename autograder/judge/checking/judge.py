"""The verdict: a runner calls the answer on every case, and what comes back is judged here."""

import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import metadata
from typing import NoReturn

import torch

from ...gpu import CANNOT_SHOW, CannotCompile, KernelLaunch, compile_report
from ...runner import Args, Runner, Tree, Trouble
from ...words import Quality
from ..comparing.trial import Trial, arguments
from ..explaining.fingerprint import Failing, fingerprint
from ..explaining.up_to import right_up_to
from ..records.category import Category
from ..records.record import MEMORY, Bug, Case, CommonMistake, Exercise, WildBug, Witness
from ..records.settings import Settings
from ..records.ulp import HALVES
from ..results.case_result import CaseResult
from ..results.data import ReportData
from ..results.scoring import points_for
from .bias import judge_bias
from .case_verdict import UNJUDGED, Judged, judge_case
from .cost import Figures, judge_compile, judge_memory, judge_process, judge_spills, judge_traffic, measured_launches
from .explained import explained
from .hindsight import in_hindsight
from .redaction import redacted
from .witness import judge_witness

UNREACHED = "unreached"  # the code of a case that was not run because the answer is not called again


@contextmanager
def one_thread() -> Iterator[None]:
    """Has PyTorch compute in the calling thread alone. A check makes thousands of short operations: threads that wait
    beside each other for the next one take several times its processor time, and on a busy machine its time, too.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@one_thread()
def judge(
    record: Exercise | Witness,
    runner: Runner,
    settings: Settings,
    at: Callable[[str], None] = lambda where: None,
) -> ReportData:
    """The report on whatever ``runner`` calls. Nothing that the runner returns is trusted before it is compared.

    at: called with a description of what is being checked.
    """
    check, backend = _CheckRequest(record, runner, settings, at), settings.backend
    if backend == "triton" and settings.compiler and runner.facts.compiler:
        results = check.compiled(runner.facts.compiler.start, runner.facts.compiler.report)
    else:
        results = check.examined()
    counted = check.machine_code(results) if settings.machine_code else None
    where = environment(runner) | ({"seed": settings.seed} if isinstance(record, Exercise) else {})
    bug = _bug(record, results) if isinstance(record, Exercise) and not results.stopped else None
    relations = {judged.result.name: judged.relation for judged in results.judged}
    forms = {judged.result.name: judged.form for judged in results.judged if judged.form}
    factors = {judged.result.name: judged.up_to for judged in results.judged}
    unexplained = {judged.result.name: judged.up_to for judged in results.judged if judged.unexplained}
    results.cases = in_hindsight(results.cases, relations, forms, unexplained, named=bug is not None)
    passed = not results.stopped and bool(results.needed) and _all_right(results.cases, settings.required)
    answers = _answers(results.needed, shows_lanes=backend == "triton" and where["mode"] == "emulator")
    report = ReportData(
        exercise=record.name,
        backend=backend,
        passed=passed,
        score=0.0,
        cases=tuple(results.cases),
        summary=_summary(results, settings.required),
        fingerprint=bug.named if isinstance(bug, WildBug) else None,
        mistake=bug.named if isinstance(bug, CommonMistake) else "",
        fingerprint_story=bug.story if bug else "",
        traffic=results.traffic,
        compile=results.compiled,
        machine_code=counted,
        environment=where,
        notes=_notes(record, results.judged) if backend == "triton" and passed else (),
        tolerance=_derived(record),
        correct=answers[Quality.CORRECT],
        portable=answers[Quality.PORTABLE],
        efficient=answers[Quality.EFFICIENT],
        required=settings.required,
        conventions=settings.conventions,
        stopped=results.stopped.reason if results.stopped else "",
        timed_out=any(t.kind == "timeout" for t in results.troubles),
        stopped_in=next(({"cell": t.cell, "reason": t.message} for t in results.troubles if t.cell), None),
        up_to=right_up_to(results.cases, factors),
    )
    points = points_for(report.cases, report.required, up_to=report.up_to)
    return replace(report, score=points.score, costs=points.costs)


class _Found:
    """Holds what the judgements so far have found. cases: of ``judged``, and what the values do not show."""

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
        """The cases that count: neither distinctions nor what was not run."""
        return [c for c in self.cases if not c.bonus and c.status != "not-run"]


@dataclass(frozen=True)
class _CheckRequest:
    """Holds what `judge` was asked for."""

    record: Exercise | Witness
    runner: Runner
    settings: Settings
    at: Callable[[str], None]

    def compiled(self, start: Callable[[], None], report: Callable[..., Figures]) -> _Found:
        """Returns what a check of an answer finds, and what compilers say of its launches: where it is right so far all
        of them, else Triton's front end alone, by what it refuses. start: has the compiler's process start.
        """
        results = self.examined(_starting(start))
        if results.stopped:
            return results
        self.at("compiling for GPUs")
        right = self._all_right(results)
        measured = measured_launches(self.record, results.judged)
        report = partial(report, whole=right, measured=measured)
        compiled, more = judge_compile(results.judged, report, self.settings.gpus)
        if right or compiled["status"] == "fail":
            results.compiled = compiled
            results.cases += more
            if isinstance(self.record, Exercise):
                results.cases += judge_spills(self.record, results.judged, results.compiled)
        return results

    def machine_code(self, results: _Found) -> Figures | None:
        """Returns what the machine code of the launches allows at most, right or wrong as they are."""
        outcomes = [judged.outcome for judged in results.judged if judged.outcome]
        launches = [launch for outcome in outcomes for launch in outcome.launches if isinstance(launch, KernelLaunch)]
        compiler = self.runner.facts.compiler
        self.at("counting machine code")
        return compiler.machine_code(launches) if compiler else None

    def examined(self, see: Callable[[Judged], None] = lambda judged: None) -> _Found:
        """Returns what a check finds, but for what compilers say. see: called with what came of each case."""
        record = self.record
        if isinstance(record, Witness):
            return _Found(judge_witness(record, self.runner))
        with self.runner.facts.ready():
            results = _Found(self._judge_cases(record, see))
        if not results.stopped:
            results.cases += judge_bias(record, results.judged)
            self._judge_cost(record, results)
        return results

    def _judge_cases(self, record: Exercise, see: Callable[[Judged], None]) -> list[Judged]:
        """Every case in order; after a trouble that no other case can mend, or that takes its time, the rest is not
        run.
        """
        judged: list[Judged] = []
        for number, case in enumerate(record.cases):
            name = "one of your teacher" if case.hidden else case.name
            self.at(f"case {number + 1} of {len(record.cases)}, {name}")
            first = not any(
                j.result.curve and len(j.result.curve.x) for j in judged
            )  # of what passes, no other is drawn
            args = arguments(case, number, self.settings.seed)
            trial = Trial.of(record, case, args, self.runner, self.settings)
            verdict = explained(trial, judge_case(trial), _results(judged, trial), curve=first)
            judged.append(redacted(record, verdict) if case.hidden else verdict)
            see(judged[-1])
            if verdict.trouble and _is_last(case, verdict.trouble):
                return judged + [self._unreached(record, later) for later in range(number + 1, len(record.cases))]
        return judged

    def _unreached(self, record: Exercise, number: int) -> Judged:
        """A case that is not run, with its arguments, by which `cost` knows whether it was the one to measure."""
        case = record.cases[number]
        args = arguments(case, number, self.settings.seed)
        category = record.category(case, args)
        result = CaseResult(
            case.name,
            "not-run",
            case.bonus,
            "The answer was not called again.",
            "",
            convention=case.convention,
            category=category,
            flaw=record.flaw_of_values(case, category),
            near=0.0,
            code=UNREACHED,
        )
        return Judged(result, args=() if case.hidden else args)

    def _judge_cost(self, record: Exercise, judgements: _Found) -> None:
        """Adds what memory and traffic show."""
        judgements.cases += judge_memory(record, judgements.judged)
        limited = self.settings.backend == "torch" and self.runner.facts.limits_memory
        if limited and self._all_right(judgements):
            held = judge_process(record, self.runner)
            if held:
                judgements.cases = [held.result if c.name == MEMORY else c for c in judgements.cases]
                judgements.troubles += [held.trouble] if held.trouble else []
        if self.settings.backend == "triton":
            judgements.traffic, more = judge_traffic(record, judgements.judged)
            judgements.cases += more

    def _all_right(self, judgements: _Found) -> bool:
        return _all_right(judgements.cases, self.settings.required)


def _starting(start: Callable[[], None]) -> Callable[[Judged], None]:
    """Has the compiler's process start with the first launch of what was not compiled before: its imports take
    longer than most checks.
    """
    started = False

    def begin(*asked: object, **options: object) -> NoReturn:
        """A report asks for what was not compiled before, and for nothing else."""
        start()
        raise CannotCompile("its process starts, and nobody waits for it here")

    def see(judged: Judged) -> None:
        nonlocal started
        for launch in judged.outcome.launches if judged.outcome and not started else ():
            if isinstance(launch, KernelLaunch):
                compile_report([launch], begin, whole=False)
            started = True
            break

    return see


def _bug(record: Exercise, judgements: _Found) -> Bug | None:
    """Returns whose bug it is. Distinctions are left out: there an answer may fail by rounding alone, and no bug
    explains rounding.
    """
    judged = [j for j in judgements.judged if not j.result.bonus]
    telling = [Failing(j.result.name, j.args, j.evidence) for j in judged if j.evidence]
    return fingerprint(record, telling, frozenset(c.name for c in judgements.cases if c.status in ("fail", "error")))


def _results(judged: list[Judged], trial: Trial) -> dict[str, Args] | None:
    """Returns what the answer returned so far, by case; None once a wrong result is in the report that it shows in
    full, before this one: the first that is no distinction, or the first of these in float32.
    """
    wrong = [j.result for j in judged if j.result.failure and not j.result.bonus]
    in_half = any(t.dtype in HALVES for t in Tree(trial.args).tensors)
    if wrong and (in_half or not all(result.half for result in wrong)):
        return None
    whole = [j for j in judged if j.outcome and not j.outcome.trouble]  # a result without its gradient is half of one
    return {j.result.name: j.outcome.outputs for j in whole if j.outcome and j.outcome.outputs}


def _answers(needed: list[CaseResult], shows_lanes: bool) -> dict[Quality, bool | None]:
    """Returns whether the answer is correct, portable and efficient, each None where no case that ran could have shown
    it, as a result of nothing cannot.

    shows_lanes: whether the calls themselves show what is not portable, as those in the emulator do.
    """
    failed = {c.kind for c in needed if c.status != "pass"}
    right = any(c.status == "pass" and c.kind is Quality.CORRECT and c.category is not Category.EDGES for c in needed)
    shown = {c.kind for c in needed if c.status == "pass" and (right or c.kind is not Quality.CORRECT)}
    called = None not in failed and (Quality.CORRECT in shown or Quality.PORTABLE in failed)
    judged = {
        Quality.CORRECT: called,
        Quality.PORTABLE: Quality.PORTABLE in shown or (called and shows_lanes),
        Quality.EFFICIENT: Quality.EFFICIENT in shown,
    }
    return {quality: False if quality in failed else judged[quality] or None for quality in Quality}


def _is_last(case: Case, trouble: Trouble) -> bool:
    """Returns whether the answer is not called again. What it earned before a time-out it keeps."""
    return trouble.kind in UNJUDGED or bool(trouble.cell) or (trouble.kind == "timeout" and not case.bonus)


def _all_right(cases: list[CaseResult], required: tuple[Quality, ...]) -> bool:
    return all(c.status == "not-run" or counts_as_right(c, required) for c in cases if not c.bonus)


def counts_as_right(case: CaseResult, required: tuple[Quality, ...]) -> bool:
    """Returns whether it passed, or lacks a quality that is not asked for."""
    return case.status == "pass" or (case.kind is not None and case.kind not in required)


def _derived(record: Exercise | Witness) -> str:
    """Where the tolerance comes from, if it is an estimate."""
    return record.tolerance.reason if isinstance(record, Exercise) and record.tolerance.estimated else ""


def _notes(record: Exercise | Witness, judged: list[Judged]) -> tuple[str, ...]:
    """Returns what the emulator cannot show of the operations that the launches used, in the order of `CANNOT_SHOW`."""
    if not (isinstance(record, Exercise) and record.notes):
        return ()
    used = {operation for j in judged if j.outcome for operation in j.outcome.looser}
    return tuple(sentence for operation, sentence in CANNOT_SHOW if operation in used)


def _summary(judgements: _Found, required: tuple[Quality, ...]) -> str:
    if judgements.stopped:
        return judgements.stopped.sentence
    wrong = [c for c in judgements.needed if not counts_as_right(c, required)]
    if not wrong:
        return "passed"
    return f"{len(wrong)} of {len(judgements.needed)} cases fail, the first is “{wrong[0].name}”"


@cache
def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def environment(runner: Runner) -> dict[str, str]:
    """Says what the check ran on: versions, device, and how Triton kernels were run. In the sandbox there is no GPU."""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": _version("triton"),
        "device": device,
        "mode": runner.facts.mode,
    }
