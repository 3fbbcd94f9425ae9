"""The reference, its families of inputs, and the candidate, put together and judged."""

import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch

from ...runner import Args, Call, CompareError, Limits, Runner
from ...words import Progress
from ..checking.judge import UNREACHED, counts_as_right, judge
from ..comparing.trial import arguments as case_arguments
from ..records.example import Example
from ..records.settings import Settings
from ..report.report import Report
from ..results.case_result import CaseResult
from ..results.data import ReportData
from .families import Family, families
from .lines import JobLines, Lines
from .method import KINDS, Method, MethodKind, worst
from .pair import Both, How, example_for, pair_of, reference_of
from .reference import Reference
from .reference_record import SEEDS, Compared, drawn, record_of
from .sizes import dimensions_of
from .smallest import Smallest

SECONDS = 10.0  # of processor time, for a few calls of the reference in one family; the example is judged in any case
LIMITS = Limits()  # of an isolated candidate
ANY = "; --any-method (any_method=True) lets that pass"
CALLS = f"right in every family, but it calls what it should compute{ANY}"
UNSHOWN = f"right in every family, but it is not shown how it computes{ANY}"
OTHERWISE = f"right in every family, but it computes in another way than asked for ({{kind}}){ANY}"


def judged(
    reference: Any,
    candidate: Any,
    arguments: Any,
    like: str | None,
    how: How,
    lines: Lines | JobLines,
    without: Iterable[str],
    kinds: tuple[MethodKind, ...],
) -> Report:
    """Returns what `compare` returns, rows aside. lines: those that make a call again. kinds: of method that pass."""
    seed = how.settings.seed
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(Progress(candidate if isinstance(candidate, str) else "the candidate"))
        progress.at("both on the example")
        both = stack.enter_context(pair_of(reference, candidate, arguments, like, how))
        accepted, refused = _made(both.known, both.example, tuple(without), both.gradients, progress.at)
        record = record_of(both.known, accepted, both.gradients, both.tried.name)
        methods, shown = [both.tried.method], "unknown" not in kinds
        with contextlib.closing(both.tried.runner(record.contract, record.above, methods.append, shown)) as runner:
            record, left_out = _without_refusals(record, accepted, runner, seed)
            settings = replace(how.settings, compiler=how.settings.compiler and both.tried.launches)
            data = judge(record, runner, settings, progress.at)
            method = worst(methods)  # not of what is tried from here on, where a sum may have one term
            progress.at("making what fails smaller")
            smallest = _smallest(both, record, runner, settings, data)
    numbers = {case.name: number for number, case in enumerate(record.cases)}
    outputs = (*record.contract.outputs, *record.contract.writes)
    cases = tuple(
        replace(
            case,
            hint=f"{what} {smallest.get(case.name, '')}".rstrip(),
            repeat=lines.of(case, seed * SEEDS + numbers[case.name], outputs),
        )
        if case.status in ("fail", "error") and (what := _what(record, numbers, case))
        else case
        for case in data.cases
    )
    if both.simulated:
        data.environment["device"] = "cpu"
    return _report(replace(data, cases=cases), both, method, refused + left_out, kinds)


def _smallest(both: Both, record: Compared, runner: Runner, settings: Settings, report: ReportData) -> dict[str, str]:
    """Of the first family with wrong values, the smallest input that fails, in a sentence."""
    failing = (case for case in report.cases if case.status == "fail" and case.failure)
    first, cases = next(failing, None), {case.name: (n, case) for n, case in enumerate(record.cases)}
    if first is None or first.name not in cases:
        return {}
    number, case = cases[first.name]
    dimensions = [] if both.example.sized else dimensions_of(both.known.given, both.known.accepts)
    args = case_arguments(case, number, settings.seed)
    return {first.name: Smallest(record, case, args, runner, settings).find(dimensions)}


def _what(record: Compared, numbers: dict[str, int], case: CaseResult) -> str:
    """Returns what the inputs of a family were; "" for what is no family. Where the candidate raises at another size,
    how that is left out.
    """
    what = record.cases[numbers[case.name]].hint if case.name in numbers else ""
    dimension, colon, _ = case.name.partition(": ")
    if what and colon and case.status == "error":
        what += f' If it is for this size alone, --without "{dimension}" keeps the example\'s.'
    return what


def inputs(
    reference: Any,
    arguments: Any,
    family: str,
    number: int = 0,
    *,
    like: str | None = None,
    without: Iterable[str] = (),
) -> Args:
    """Returns what `compare` calls the candidate with in the family of this name, without upstream gradients. number:
    of the random inputs, as a report names it. Raises CompareError where there is no such family.
    """
    example = example_for(arguments, like)
    known = reference_of(reference, example, number // SEEDS)
    chosen = _family(known, example, family, tuple(without), known.differentiable)
    return drawn(known, chosen, torch.Generator().manual_seed(number))


def reproduce(
    reference: Any,
    candidate: Any,
    arguments: Any = None,
    *,
    family: str,
    number: int = 0,
    like: str | None = None,
    without: Iterable[str] = (),
    gradients: bool | None = None,
    isolated: bool = False,
    simulated: bool | None = None,
) -> tuple[Args, Args, Args]:
    """(arguments, results of the candidate, results of the reference in float64) of one call that `compare` made, each
    in the order of its report: gradients behind the results, and the upstream ones behind the arguments.

    family, number: as the report names them. The rest as `compare` has it. Raises CompareError, and RuntimeError with
    what the candidate raised.
    """
    how = How(Settings("triton", number // SEEDS), isolated, simulated, None, LIMITS, gradients)
    with pair_of(reference, candidate, arguments, like, how) as both:
        chosen = _family(both.known, both.example, family, tuple(without), both.gradients)
        record = record_of(both.known, [chosen], both.gradients, both.tried.name)
        args = record.cases[0].inputs(torch.Generator().manual_seed(number))
        expected = record.exact(args)
        with contextlib.closing(both.tried.runner(record.contract, record.above)) as runner:
            outcome = runner.examine(_call(record, args, chosen.twice)).first
    if outcome.trouble:
        raise RuntimeError("\n".join(filter(None, (outcome.trouble.message, outcome.trouble.details))))
    return args, outcome.outputs, expected


def _family(known: Reference, example: Example, name: str, without: tuple[str, ...], gradients: bool) -> Family:
    accepted, _ = _made(known, example, without, gradients, lambda where: None)
    for each in accepted:
        if each.name == name:
            return each
    raise CompareError(f"there is no family {name!r}; there are {', '.join(repr(f.name) for f in accepted)}")


def _call(record: Compared, args: Args, twice: bool = False) -> Call:
    layouts = tuple((dtype, e.shape) for dtype, e in zip(record.dtypes(args), record.exact(args), strict=True))
    return Call(args, layouts, twice=twice)


def _made(
    reference: Reference, example: Example, without: tuple[str, ...], gradients: bool, at: Callable[[str], None]
) -> tuple[list[Family], list[CaseResult]]:
    """The families that the reference takes, and what is said of the others. at: called with what is tried. Raises
    CompareError for unknown names.
    """
    accepted, refused = [], []
    try:
        dimensions = [] if example.sized else dimensions_of(reference.given, reference.accepts)
        every = list(families(example, reference, dimensions, without, gradients))
        known = {family.name for family in (*every, *(families(example, reference, dimensions) if without else ()))}
    except CompareError:
        raise
    except Exception as error:
        way = "give arguments as a function of a seed and a size"
        raise CompareError(f"no families can be made of the example ({type(error).__name__}: {error}): {way}") from None
    unknown = [name for name in without if not any(title.startswith(name) for title in known)]
    if unknown:
        raise CompareError(f"no family is named {unknown[0]!r}; there are {', '.join(repr(f.name) for f in every)}")
    for number, family in enumerate(every):
        if family.name.startswith(without) and without:
            continue
        at(f"the reference, {family.name}")
        if why := _unfit(reference, family, number, gradients):
            refused.append(_not_run(family, why))
        else:
            accepted.append(family)
    return accepted, refused


def _unfit(reference: Reference, family: Family, number: int, gradients: bool) -> str:
    """Why a family is left out; "" where it is not."""
    began = time.process_time()
    try:
        numbers = family.draw(torch.Generator().manual_seed(number))
        args = reference.with_parameters(numbers)
    except Exception as error:
        return f"it cannot be drawn: {type(error).__name__}: {error}"
    if why := reference.refuses(args) or (gradients and reference.refuses_gradients(args)) or "":
        return f"the reference {why}"
    if reference.repeats(numbers):
        return "the reference writes several values to one index, and PyTorch leaves open which of them stays"
    if reference.overflows(args):
        return "the reference itself overflows in this dtype, where float64 does not"
    took = time.process_time() - began
    if took > SECONDS and number:  # and what is judged takes some ten times as long
        return f"the reference takes {took:.0f} s of processor time on it, of at most {SECONDS:g}"
    return ""


def _without_refusals(
    record: Compared, families: list[Family], runner: Runner, seed: int
) -> tuple[Compared, list[CaseResult]]:
    """The record without the families that the candidate refuses (`Family.refused_by`), and what is said of those."""
    refused = []
    for number, family in enumerate(families):
        if family.refusable:
            args = case_arguments(record.cases[number], number, seed)
            trouble = runner.examine(_call(record, args)).first.trouble
            if trouble and family.refused_by(trouble):
                refused.append((family, trouble.message.partition("\n")[0].rstrip(": ")))
            elif trouble and trouble.kind == "timeout":  # which the first case will say, too
                break
    names = {family.name for family, _ in refused}
    kept = tuple(case for case in record.cases if case.name not in names)
    said = [_not_run(family, f"the candidate raises {message}") for family, message in refused]
    return replace(record, cases=kept), said


def _not_run(family: Family, why: str) -> CaseResult:
    return CaseResult(family.name, "not-run", False, why, "")


def kinds_of(computes: Iterable[str]) -> tuple[MethodKind, ...]:
    """The kinds of method of these names. Raises CompareError for an unknown one."""
    asked = tuple(computes)
    if unknown := [name for name in asked if name not in KINDS]:
        raise CompareError(f"no candidate computes {unknown[0]!r}; there are {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if kind in asked)


def _report(
    report: ReportData, both: Both, method: Method, left_out: list[CaseResult], kinds: tuple[MethodKind, ...]
) -> Report:
    """The report, with what did not run and how the comparison was made."""
    remarks = [f"Computes: {method}.", *both.known.remarks()]
    if both.known.differentiable and not both.gradients:
        remarks.append("Gradients are not compared: the result of the candidate is not attached to the graph.")
    ran = [case for case in report.cases if case.status != "not-run" or case.code == UNREACHED]
    share = sum(counts_as_right(case, report.required) for case in ran) / max(1, len(ran))
    refused = method.kind not in kinds
    why = {"no": CALLS, "unknown": UNSHOWN}.get(method.kind, OTHERWISE.format(kind=method.kind))
    data = replace(
        report,
        backend="triton" if both.tried.launches else "torch",
        cases=report.cases + tuple(left_out),
        passed=report.passed and not refused,
        score=0.0 if refused else share,
        summary=why if refused and report.passed else report.summary,
        costs=(),
        remarks=tuple(remarks),
        computes=method.kind,
    )
    return Report.of(data)
