"""``compare``: the reference, its families of inputs, and the candidate, put together and judged."""

import contextlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch

from ...gpu import OF_MEMORY
from ...runner import Args, Call, Layouts, Limits, Runner, Worker, callee_of
from ...words import Quality
from ..judge import counts_as_right, judge
from ..report.report import Report
from ..results.case_result import CaseResult
from ..results.data import ReportData
from ..trial import arguments as case_arguments
from .errors import CompareError
from .example import USUAL, Example
from .families import Family, families
from .lines import JobLines, Lines
from .pair import Both, How, example_for, pair_of
from .record import SEEDS, Compared, drawn, record_of
from .reference import Reference
from .sizes import dimensions_of

LIMITS = Limits()  # of an isolated candidate
CALLS = "right in every family, but it calls what it should compute; --any-method (any_method=True) lets that pass"


def compare(
    reference: Any,
    candidate: Any,
    arguments: Any = None,
    *,
    like: str | None = None,
    seed: int = 0,
    without: Iterable[str] = (),
    gradients: bool | None = None,
    compiler: bool = True,
    require: Iterable[str] = (Quality.CORRECT, Quality.PORTABLE),
    any_method: bool = False,
    isolated: bool = False,
    simulated: bool | None = None,
    worker: Worker | None = None,
    limits: Limits = LIMITS,
) -> Report:
    """Judges ``candidate`` by what ``reference`` returns in float64, on families of inputs made from ``arguments``.

    reference, candidate: functions of the same arguments that return tensors, or write into one; modules, whose
    parameters have the same names (the reference's values are used for both); an ``autograd.Function``; or
    ``(forward, backward)``, where backward takes the upstream gradient of each result, then forward's arguments, and
    returns the gradient of each floating-point one. Each may be named instead: ``"FILE.py:NAME"`` or
    ``"package.module:NAME"``, or both as files in KernelBench's form, which have their own arguments.
    arguments: an example: a tensor or a tuple, or a function that returns one, of nothing, of a seed, or of a seed and
    a size; or its name. like: an exercise whose first case is the example. seed: of the random inputs.
    without: names of families to leave out, such as ``"NaN in x"``; a name without its end (``"NaN"``) leaves out all
    that begin with it; a dimension (``"dimension 1 of x"``) then has the example's size in all families. gradients:
    whether they are compared; where it is None, if reference and candidate have some.
    compiler, require: as `check` has them; ``efficient`` cannot be judged without a record.
    any_method: whether a candidate may call the operators of the reference (``computes`` is ``"no"``), as other PyTorch
    code does that is not meant to replace them; then its values alone decide.
    isolated: whether the candidate, which is named or `Code`, is text that only the sandbox runs. worker, limits: the
    process for that, by default one of its own, and what the candidate may take.
    simulated: whether reference and candidate see a simulated GPU; where it is None, if they are named and there is
    none.
    The report is true where the candidate computes, and is right in every family that the reference takes. Its score is
    the share of these families; 0 where it does not compute. Raises CompareError, and CandidateError where the
    candidate is the reason.
    """
    how = How(seed, isolated, simulated, worker, limits, gradients)
    without = tuple(without)
    lines = Lines(reference, candidate, arguments, like, without, how)
    return judged(reference, candidate, arguments, like, how, lines, without, compiler, require, any_method)


def judged(
    reference: Any,
    candidate: Any,
    arguments: Any,
    like: str | None,
    how: How,
    lines: Lines | JobLines,
    without: Iterable[str],
    compiler: bool,
    require: Iterable[str],
    any_method: bool,
) -> Report:
    """What `compare` returns. lines: those that make a call again."""
    with pair_of(reference, candidate, arguments, like, how) as both:
        made, refused = _made(both.known, both.example, tuple(without), both.gradients)
        record = record_of(both.known, made, both.gradients, both.tried.name)
        with contextlib.closing(both.tried.runner(record.contract, record.above)) as runner:
            record, left_out = _without_refusals(record, made, runner, how.seed)
            wanted = compiler and both.tried.launches
            found = judge(record, "triton", runner, seed=how.seed, compiler=wanted, require=require)
    numbers = {case.name: number for number, case in enumerate(record.cases)}
    outputs = (*record.contract.outputs, *record.contract.writes)
    told = tuple(
        replace(case, hint=what, repeat=lines.of(case, how.seed * SEEDS + numbers[case.name], outputs))
        if case.status in ("fail", "error") and (what := _what(record, numbers, case))
        else case
        for case in found.cases
    )
    if both.simulated:
        found.environment["device"] = "cpu"
    return _report(replace(found, cases=told), both, refused + left_out, any_method)


def _what(record: Compared, numbers: dict[str, int], case: CaseResult) -> str:
    """What the inputs of a family were; "" for what is no family. Where the candidate raises at another size, how that
    is left out.
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
    """What `compare` calls the candidate with in the family of this name, without upstream gradients. number: of the
    random inputs, as a report names it. Raises CompareError where there is no such family.
    """
    example = example_for(arguments, like)
    known = Reference(callee_of(reference, "reference"), example.make(number // SEEDS, USUAL))
    return drawn(known, _family(known, example, family, tuple(without)), torch.Generator().manual_seed(number))


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
    how = How(number // SEEDS, isolated, simulated, None, LIMITS, gradients)
    with pair_of(reference, candidate, arguments, like, how) as both:
        one = _family(both.known, both.example, family, tuple(without))
        record = record_of(both.known, [one], both.gradients, both.tried.name)
        args = record.cases[0].inputs(torch.Generator().manual_seed(number))
        expected = record.exact(args)
        with contextlib.closing(both.tried.runner(record.contract, record.above)) as runner:
            came = runner.examine(Call(args, _layouts(record, args))).first
    if came.trouble:
        raise RuntimeError("\n".join(filter(None, (came.trouble.message, came.trouble.details))))
    return args, came.outputs, expected


def _family(known: Reference, example: Example, name: str, without: tuple[str, ...]) -> Family:
    made, _ = _made(known, example, without, gradients=False)
    for one in made:
        if one.name == name:
            return one
    raise CompareError(f"there is no family {name!r}; there are {', '.join(repr(f.name) for f in made)}")


def _layouts(record: Compared, args: Args) -> Layouts:
    return tuple((dtype, e.shape) for dtype, e in zip(record.dtypes(args), record.exact(args), strict=True))


def _made(
    reference: Reference, example: Example, without: tuple[str, ...], gradients: bool
) -> tuple[list[Family], list[CaseResult]]:
    """The families that the reference takes, and what is said of the others. Raises CompareError for unknown names."""
    dimensions = [] if example.sized else dimensions_of(reference.given, reference.accepts)
    made, refused = [], []
    every = list(families(example, reference, dimensions, without))
    known = {family.name for family in (*every, *(families(example, reference, dimensions) if without else ()))}
    unknown = [name for name in without if not any(one.startswith(name) for one in known)]
    if unknown:
        raise CompareError(f"no family is named {unknown[0]!r}; there are {', '.join(repr(f.name) for f in every)}")
    for number, family in enumerate(every):
        if family.name.startswith(without) and without:
            continue
        args = reference.with_parameters(family.make(torch.Generator().manual_seed(number)))
        why = reference.refuses(args) or (gradients and reference.refuses_gradients(args)) or ""
        if not why and reference.overflows(args):
            refused.append(_not_run(family, "the reference itself overflows in this dtype, where float64 does not"))
            continue
        if why:
            refused.append(_not_run(family, f"the reference raises {why}"))
        else:
            made.append(family)
    return made, refused


def _without_refusals(
    record: Compared, made: list[Family], runner: Runner, seed: int
) -> tuple[Compared, list[CaseResult]]:
    """The record without the layouts and dtypes that the candidate refuses in an error, and what is said of those."""
    refused = []
    for number, family in enumerate(made):
        if family.refusable:
            args = case_arguments(record.cases[number], number, seed)
            trouble = runner.examine(Call(args, _layouts(record, args))).first.trouble
            if trouble and trouble.kind in ("raised", "finding") and trouble.code not in OF_MEMORY:
                refused.append((family, trouble.message.partition("\n")[0].rstrip(": ")))
            elif trouble and trouble.kind == "timeout":  # which the first case will say, too
                break
    names = {family.name for family, _ in refused}
    kept = tuple(case for case in record.cases if case.name not in names)
    said = [_not_run(family, f"the candidate raises {message}") for family, message in refused]
    return replace(record, cases=kept), said


def _not_run(family: Family, why: str) -> CaseResult:
    return CaseResult(family.name, "not-run", False, why, "")


def _report(found: ReportData, both: Both, left_out: list[CaseResult], any_method: bool) -> Report:
    """The report, with what did not run and how the comparison was made."""
    method = both.tried.method
    remarks = [f"Computes: {method}.", *both.known.mode.remarks()]
    if both.known.differentiable and not both.gradients:
        remarks.append("Gradients are not compared: the result of the candidate is not attached to the graph.")
    ran = [case for case in found.cases if case.status != "not-run"]
    share = sum(counts_as_right(case, found.required) for case in ran) / max(1, len(ran))
    calls = method.kind == "no" and not any_method
    data = replace(
        found,
        backend="triton" if both.tried.launches else "torch",
        cases=found.cases + tuple(left_out),
        passed=found.passed and not calls,
        score=0.0 if calls else share,
        summary=CALLS if calls and found.passed else found.summary,
        split=(),
        limit="",
        remarks=tuple(remarks),
        computes=method.kind,
    )
    return Report.of(data)
