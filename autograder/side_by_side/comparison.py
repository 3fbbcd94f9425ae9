"""``compare``: the reference, its families of inputs, and the candidate, put together and judged."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch

from ..exercises import EXERCISES
from ..exercises.record import Exercise
from ..judge.judge import judge
from ..judge.trial import arguments as case_arguments
from ..report.report import Report
from ..results.case_result import CaseResult
from ..results.data import ReportData
from ..results.quality import Quality
from ..run.contract import Args
from ..run.printing import few_lines
from ..sanitize.function import Function
from .callee import callee_of
from .candidate import Candidate, candidate_of
from .errors import CompareError
from .example import USUAL, Example, example_of
from .families import Family, families
from .record import SEEDS, Compared, drawn, record_of
from .reference import Reference
from .sizes import dimensions_of

REPEAT = """\
from graded_kernels.autograder.side_by_side import inputs
args = inputs({reference}, {arguments}, {family!r}, {number}{like})
print({candidate}(*args), {reference}(*args))"""


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
    simulated: bool = False,
) -> Report:
    """Judges ``candidate`` by what ``reference`` returns in float64, on families of inputs made from ``arguments``.

    reference, candidate: functions of the same arguments that return tensors, or write into one; modules, whose
    parameters have the same names (the reference's values are used for both); an ``autograd.Function``; or
    ``(forward, backward)``, where backward takes the upstream gradient of each result, then forward's arguments, and
    returns the gradient of each floating-point one.
    arguments: an example: a tensor or a tuple, or a function that returns one, of nothing, of a seed, or of a seed and
    a size. like: an exercise whose first case is the example. seed: of the random inputs.
    without: names of families to leave out, such as ``"NaN in x"``; a name without its end (``"NaN"``) leaves out all
    that begin with it. gradients: whether they are compared; where it is None, if reference and candidate have some.
    compiler, require: as `check` has them; ``efficient`` cannot be judged without a record.
    simulated: whether the candidate gets its tensors on a simulated GPU, inside `sanitize.cuda.shimmed`.
    The report is true where the candidate is right in every family that the reference takes. Raises CompareError.
    """
    example = _example(arguments, like)
    with few_lines():
        known = Reference(callee_of(reference, "reference"), example.make(seed, USUAL))
        tried = candidate_of(callee_of(candidate, "candidate"), known, simulated)
        with_gradients = _with_gradients(gradients, known, tried)
        made, refused = _made(known, example, tuple(without))
        record = record_of(known, made, with_gradients, tried.callee.name)
        runner = Function(tried.function(with_gradients, record.above), record.contract, "triton", simulated)
        record, left_out = _without_refusals(record, made, runner, seed)
        found = judge(record, "triton", runner, seed=seed, compiler=compiler and tried.launches, require=require)
    names = {case.name: (number, case.hint) for number, case in enumerate(record.cases)}
    lines = REPEAT.replace("{arguments}", str(None if like else "arguments")).replace(
        "{like}", f", like={like!r}" if like else ""
    )
    told = tuple(_told(case, *names.get(case.name, (0, "")), known, tried, lines, seed) for case in found.cases)
    if simulated:
        found.environment["device"] = "cpu"
    return _report(replace(found, cases=told), known, tried, with_gradients, refused + left_out)


def _told(
    case: CaseResult, number: int, what: str, reference: Reference, candidate: Candidate, lines: str, seed: int
) -> CaseResult:
    """A failing case with what its inputs were, and the lines that repeat it."""
    if case.status not in ("fail", "error") or not what:
        return case
    names = {"reference": reference.callee.label, "candidate": candidate.callee.label, "family": case.name}
    return replace(case, hint=what, repeat=lines.format(number=seed * SEEDS + number, **names))


def inputs(reference: Any, arguments: Any, family: str, number: int = 0, *, like: str | None = None) -> Args:
    """What `compare` calls the candidate with in the family of this name, without upstream gradients. number: of the
    random inputs, as a report names it. Raises CompareError where there is no such family.
    """
    example = _example(arguments, like)
    known = Reference(callee_of(reference, "reference"), example.make(number // SEEDS, USUAL))
    made, _ = _made(known, example, ())
    for one in made:
        if one.name == family:
            return drawn(known, one, torch.Generator().manual_seed(number))
    raise CompareError(f"there is no family {family!r}; there are {', '.join(repr(f.name) for f in made)}")


def _example(arguments: Any, like: str | None) -> Example:
    if (arguments is None) == (like is None):
        raise CompareError(
            "give example arguments, or like= and the name of an exercise that takes the same: one of the two"
        )
    if like is None:
        return example_of(arguments)
    record = _find(like)
    number = next(n for n, case in enumerate(record.cases) if not case.raises)
    return example_of(case_arguments(record.cases[number], number, 0))


def _find(name: str) -> Exercise:
    for one in (name, f"{name}_forward"):
        found = EXERCISES.get(one)
        if isinstance(found, Exercise):
            return found
    raise CompareError(f"there is no exercise {name} (`graded-kernels list` shows them)")


def _with_gradients(asked: bool | None, reference: Reference, candidate: Candidate) -> bool:
    """Raises CompareError where gradients are asked for that do not exist."""
    if asked and not reference.differentiable:
        raise CompareError("the reference has no gradients that could be compared")
    if asked and not candidate.attached:
        raise CompareError(f"the result of {candidate.callee.name} is not attached to the graph: it has no gradients")
    return candidate.attached if asked is None else asked


def _made(reference: Reference, example: Example, without: tuple[str, ...]) -> tuple[list[Family], list[CaseResult]]:
    """The families that the reference takes, and what is said of the others. Raises CompareError for unknown names."""
    dimensions = [] if example.sized else dimensions_of(reference.given, reference.accepts)
    made, refused = [], []
    every = list(families(example, reference, dimensions))
    unknown = [name for name in without if not any(family.name.startswith(name) for family in every)]
    if unknown:
        raise CompareError(f"no family is named {unknown[0]!r}; there are {', '.join(repr(f.name) for f in every)}")
    for number, family in enumerate(every):
        if family.name.startswith(without) and without:
            continue
        args = reference.with_parameters(family.make(torch.Generator().manual_seed(number)))
        why = reference.refuses(args)
        if not why and reference.overflows(args):
            refused.append(_not_run(family, "the reference itself overflows in this dtype, where float64 does not"))
            continue
        if why:
            refused.append(_not_run(family, f"the reference raises {why}"))
        else:
            made.append(family)
    return made, refused


def _without_refusals(
    record: Compared, made: list[Family], runner: Function, seed: int
) -> tuple[Compared, list[CaseResult]]:
    """The record without the layouts and dtypes that the candidate refuses in an error, and what is said of those."""
    refused = []
    for number, family in enumerate(made):
        if family.refusable:
            trouble = runner.once(case_arguments(record.cases[number], number, seed)).trouble
            if trouble and trouble.kind in ("raised", "finding") and not trouble.cause:  # a cause is about memory
                refused.append((family, trouble.message.partition("\n")[0].rstrip(": ")))
    names = {family.name for family, _ in refused}
    kept = tuple(case for case in record.cases if case.name not in names)
    said = [_not_run(family, f"the candidate raises {message}") for family, message in refused]
    return replace(record, cases=kept), said


def _not_run(family: Family, why: str) -> CaseResult:
    return CaseResult(family.name, "not-run", False, why, "")


def _report(
    found: ReportData, reference: Reference, candidate: Candidate, gradients: bool, left_out: list[CaseResult]
) -> Report:
    """The report, with what did not run and how the comparison was made. Its score is the share of families passed."""
    remarks = [f"Computes: {candidate.computes}.", *reference.mode.remarks()]
    if reference.differentiable and not gradients:
        remarks.append("Gradients are not compared: the result of the candidate is not attached to the graph.")
    ran = [case for case in found.cases if case.status != "not-run"]
    share = sum(case.status == "pass" for case in ran) / max(1, len(ran))
    cases = found.cases + tuple(left_out)
    backend = "triton" if candidate.launches else "torch"
    return Report.of(
        replace(found, backend=backend, cases=cases, score=share, split=(), limit="", remarks=tuple(remarks))
    )
