"""Says what the values do not show: the memory an answer takes, the bytes its kernels move, what compilers make of
them.

Memory, traffic and spills are measured in one case each, the largest, on which the bound was set. Where that case gave
no measurement, there is none: another case has another bound, which a right answer may exceed. But where an answer
gives no result in half precision, traffic and spills are measured in the next case: a missing dtype is charged once.

The memory of a Triton answer's tensors is known from the replay of its kernels. A PyTorch answer's own process reports
it, and may report it wrong; an isolated one is called once more, on more than its process has memory for if it holds
too much.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from ...gpu import KernelLaunch, Target
from ...runner import Args, Call, Runner, Tree
from ...words import Quality
from ..comparing.closeness import Expected, expect, unlike
from ..comparing.trial import describe, unforeseeable
from ..records.category import Category, Flaw
from ..records.record import COMPILE, MEMORY, SPILLS, TRAFFIC, Case, Exercise, Large, Witness
from ..records.ulp import ulp_size
from ..results.case_result import CaseResult, CaseStatus
from .case_verdict import Judged
from .determinism import fault_in

Figures = dict[str, Any]  # traffic or compile of a report, as JSON has it: see `ReportData`
Compile = Callable[[Sequence[KernelLaunch], Sequence[Target]], Figures]

KERNELS = 32
_IN_PARTS = "Which tensor is the largest? Make a part of it, use it, and make the next part in its place."
_SPILLED = (
    "What no register holds goes to memory and back. Of each tensor a thread holds the block over 32 · num_warps "
    "numbers: "
)
_MOST_WARPS = 32  # of a program
LEAST_SHARE = 0.5  # of its inputs that a kernel loads which computes its result from them
_LEFT_OUT = (
    "Triton's compiler leaves out a load whose value decides nothing. What in the kernel is known when it is compiled?"
)
_ACCEPTED = "The emulator runs Python; a GPU runs what Triton's compiler accepts."


def judge_memory(record: Exercise, judged: list[Judged]) -> list[CaseResult]:
    """The most bytes that tensors took at once, in the case where most is allowed."""
    most_bytes = record.most_bytes
    if most_bytes is None:
        return []
    largest = max(_measurable(record, judged), key=lambda j: most_bytes(*j.args), default=None)
    if largest is None or not (largest.outcome and largest.outcome.outputs):
        return [_not_measured(record, MEMORY, largest)]
    took, most = largest.outcome.peak, most_bytes(*largest.args)
    message = f"Its tensors take {took:,} bytes at once; up to {most:,} are allowed here."
    if took <= most:
        return [_found(record, MEMORY, "pass", message, largest.result.inputs)]
    return [_found(record, MEMORY, "fail", message, largest.result.inputs, hint=_IN_PARTS)]


def judge_process(record: Exercise, runner: Runner) -> Judged | None:
    """A large call of an isolated PyTorch answer, in a process with memory for what is right, and what came of it
    where that is not right; None where it is, or where the exercise has no such call.

    The numbers are drawn for this call alone, and so is which of the rows are judged.
    """
    large, most_bytes = record.large, record.most_bytes
    if large is None or most_bytes is None:
        return None
    chance = torch.Generator().manual_seed(unforeseeable())
    small = large.inputs(chance)
    args, places = _among_others(large, small, chance)
    shown, most = describe(record, args), most_bytes(*args)
    expected = _expected(record, large, small)
    call = _call(large, expected, args, most)
    outcome = runner.examine(call).first
    if trouble := outcome.trouble:
        late = trouble.kind == "timeout"
        status: CaseStatus = "error" if late else "fail"
        kind = None if late else Quality.EFFICIENT
        message = f"In a process with memory for the {most:,} bytes that are allowed here it fails: {trouble.message}"
        failed = _found(record, MEMORY, status, message, shown, hint=_IN_PARTS, kind=kind, details=trouble.details)
        return Judged(failed, trouble=trouble if late else None)
    if message := _wrong_rows(large, expected, outcome.outputs, call, places, record.named(small)):
        return Judged(_found(record, MEMORY, "fail", message, shown, kind=Quality.CORRECT))
    return None


def _wrong_rows(
    large: Large,
    expected: Expected,
    outputs: Args,
    call: Call,
    places: torch.Tensor,
    named: dict[str, torch.Tensor],
) -> str:
    """Returns what is wrong with the rows at ``places``, or with the layout of an output; "" where nothing is."""
    for name, output, (dtype, shape) in zip(expected.names, outputs, call.layouts, strict=True):
        if complaint := unlike(name, output, shape, dtype):
            return complaint
    judged = zip(large.shares, outputs, strict=True)
    rows = tuple(o if share is None else o.index_select(large.dimension, places) for share, o in judged)
    return fault_in(expected, rows, named, "in a large call.")


def _among_others(large: Large, small: Args, chance: torch.Generator) -> tuple[Args, torch.Tensor]:
    """(the arguments of the large call, the places of the small call's rows in it). The other rows are these, each
    number made smaller or larger by a share of its own.
    """
    count = small[large.rows[0]].shape[large.dimension]
    places = torch.randperm(large.times * count, generator=chance)[:count]

    def among(few: torch.Tensor) -> torch.Tensor:
        many = few.repeat(*(large.times if i == large.dimension else 1 for i in range(few.ndim)))
        if many.is_floating_point():
            many *= 0.5 + torch.rand(many.shape, generator=chance)
        return many.index_copy_(large.dimension, places, few)

    return tuple(among(a) if i in large.rows else a for i, a in enumerate(small)), places


def _expected(record: Exercise, large: Large, small: Args) -> Expected:
    """Returns what is right for the small call's rows in the large one, by the oracle's account of the small one."""
    expected = expect(record, Case(MEMORY, large.inputs, ""), small)
    values = [value * (share or 1.0) for value, share in zip(expected.values, large.shares, strict=True)]
    sizes = [ulp_size(value, dtype) for value, dtype in zip(values, expected.dtypes, strict=True)]
    factors = [torch.inf if share is None else large.terms * share for share in large.shares]
    terms = zip(factors, expected.allowed, expected.sizes, sizes, strict=True)
    allowed = [factor * ulp * before / size for factor, ulp, before, size in terms]
    return replace(expected, values=tuple(values), sizes=tuple(sizes), allowed=tuple(allowed), peers=None)


def _call(large: Large, expected: Expected, args: Args, memory: int) -> Call:
    """The large call, with the dtype and shape of each of its outputs."""
    shapes = [list(value.shape) for value in expected.values]
    for shape, share in zip(shapes, large.shares, strict=True):
        if share is not None:
            shape[large.dimension] *= large.times
    layouts = tuple((dtype, torch.Size(shape)) for dtype, shape in zip(expected.dtypes, shapes, strict=True))
    return Call(args, layouts, memory=memory)


def judge_traffic(record: Exercise, judged: list[Judged]) -> tuple[Figures | None, list[CaseResult]]:
    """Bytes moved in the largest case whose inputs are contiguous, over the least the mathematics needs."""
    figures, results = _traffic(record, judged)
    return figures, _as_charged(results, record, judged, lambda wide, part: _traffic(wide, part)[1])


def _as_charged(
    results: list[CaseResult],
    record: Exercise,
    judged: list[Judged],
    measure: Callable[[Exercise, list[Judged]], list[CaseResult]],
) -> list[CaseResult]:
    """The results of a measurement. Too much in half precision alone is about the dtypes: it costs no more than to give
    no result there.
    """
    wide = [pair for pair in zip(record.cases, judged, strict=True) if not pair[1].result.half]
    if not any(result.status == "fail" and result.kind == Quality.EFFICIENT for result in results):
        return results
    again = measure(replace(record, cases=tuple(case for case, _ in wide)), [verdict for _, verdict in wide])
    passed = bool(again) and all(result.status == "pass" for result in again)
    return [replace(result, category=Category.DTYPES) for result in results] if passed else results


def _traffic(record: Exercise, judged: list[Judged]) -> tuple[Figures | None, list[CaseResult]]:
    least_bytes = record.least_bytes
    if least_bytes is None:
        return None, []
    largest = _largest(record, judged)
    if largest is None or not (largest.outcome and largest.outcome.outputs):
        return None, [_not_measured(record, TRAFFIC, largest)]
    if not largest.outcome.traffic:
        message = "The emulator saw no launch."
        return None, [CaseResult(TRAFFIC, "not-run", False, message, "", kind=Quality.EFFICIENT)]
    least, tensors = least_bytes(*largest.args), largest.outcome.traffic
    loaded, stored = (sum(t[way] for t in tensors.values()) for way in ("loaded", "stored"))
    outside = largest.outcome.moved
    copied = outside.loaded + outside.stored
    ratio = (loaded + stored + copied) / least
    traffic: Figures = {"loaded": loaded + outside.loaded, "stored": stored + outside.stored}
    traffic |= {"least": least, "ratio": ratio}
    traffic |= {"allowed": record.traffic, "tensors": tensors}
    if record.traffic is None:
        return traffic, []
    shared = "" if ratio >= 1 else " where programs share nothing"
    message = f"It moves {ratio:.2f} times the bytes that {record.name} needs{shared}."
    inputs = largest.result.inputs
    needed = min(least - _bytes(largest.outcome.outputs), _needed(largest.args))
    if loaded < LEAST_SHARE * needed:
        message = f"It loads {loaded:,} bytes, and its inputs are {needed:,}: the result cannot follow from them."
        return traffic, [
            _found(record, TRAFFIC, "fail", message, inputs, hint="Load every input.", kind=Quality.CORRECT)
        ]
    if ratio <= record.traffic:
        return traffic, [_found(record, TRAFFIC, "pass", message, inputs)]
    hint = "Load each input once and store each output once; keep what lies between in registers."
    if copied:
        message += f" {copied / least:.2f} of it are PyTorch's copies and fills outside of the kernels."
    message += f" Up to {record.traffic:g} times is accepted."
    return traffic, [_found(record, TRAFFIC, "fail", message, inputs, hint=hint)]


def judge_compile(
    judged: list[Judged], compiled: Compile, targets: Sequence[Target]
) -> tuple[Figures, list[CaseResult]]:
    """Returns what the cases launched, compiled ahead of time for these targets (`compiler.compile_report`). A form
    that does not compile costs what the cases are worth that launch it; one that takes the compiler too long is not
    efficient. What distinctions alone launch costs nothing.
    """
    judged = [verdict for verdict in judged if not verdict.result.bonus or verdict.result.status == "pass"]
    launches = [launch for verdict in judged if verdict.outcome for launch in verdict.outcome.launches]
    unknown = [launch for launch in launches if isinstance(launch, str)]
    described = [launch for launch in launches if isinstance(launch, KernelLaunch)]
    if unknown:
        # What cannot be described switches the compiler off, for every kernel that is launched so. That is the answer's
        # doing, and no tool that is missing.
        reason = f"{unknown[0]}: hand the kernel tensors and numbers one by one."
        return _failed(reason, Quality.PORTABLE)
    kernels = len({launch.kernel for launch in described})
    if kernels > KERNELS:
        reason = f"The answer launches {kernels} kernels; at most {KERNELS} can be compiled, and all of them must be."
        return _failed(reason, Quality.CORRECT)
    report = compiled(described, targets)
    if report["status"] == "not-run":
        return report, [CaseResult(COMPILE, "not-run", False, report["reason"], "", kind=Quality.PORTABLE)]
    wrong = next((row for row in report["targets"] if row["status"] == "fail"), None)
    hint = (wrong["advice"] or _ACCEPTED) if wrong else ""
    kind = Quality.PORTABLE if report["status"] == "pass" or _somewhere(report["targets"]) else Quality.CORRECT
    if report["status"] == "pass" and (without := _leaves_out_loads(judged, report["targets"])):
        case, reason = without
        flaw = Flaw.WHOLE if case.category is Category.PLAIN else Flaw.VALUES
        return report, [replace(_compiled("fail", reason, _LEFT_OUT, Quality.CORRECT), flaw=flaw)]
    rows = [row for row in report["targets"] if row["status"] == "fail"]
    launching = [verdict.result for verdict in judged if _launched(verdict, rows)]
    bonus = bool(launching) and all(result.bonus for result in launching)
    if rows and all(row["slow"] for row in rows):
        late = CaseResult(
            COMPILE, "fail", bonus, report["reason"], "", kind=Quality.EFFICIENT, category=Category.LAYOUTS
        )
        return report, [late]
    categories = {result.category for result in launching}
    category = next(
        (
            category
            for category in (Category.PLAIN, Category.DTYPES, Category.LAYOUTS, Category.EDGES, Category.POINT)
            if category in categories
        ),
        Category.PLAIN,
    )
    return report, [replace(_compiled(report["status"], report["reason"], hint, kind, category), bonus=bonus)]


def _launched(verdict: Judged, rows: list[Figures]) -> bool:
    """Says whether a case launched one of the forms that these rows of a report are about."""
    return verdict.outcome is not None and any(map(_is_among(rows), verdict.outcome.launches))


def _leaves_out_loads(judged: list[Judged], rows: list[Figures]) -> tuple[CaseResult, str] | None:
    """A case whose kernels load something here and, compiled, nothing at all, with a sentence: what they compute there
    follows from no input. None where there is none, or not all of its launches were compiled.
    """
    for verdict in judged:
        launches = verdict.outcome.launches if verdict.outcome and verdict.result.status == "pass" else ()
        loaded = (
            sum(moved["loaded"] for moved in verdict.outcome.traffic.values()) if launches and verdict.outcome else 0
        )
        reads = [[row["reads"] for row in rows if _is_among([row])(launch)] for launch in launches]
        if loaded and all(known and not any(known) and None not in known for known in reads):
            where = f"in the case “{verdict.result.name}”"
            reason = f"Its kernels load {loaded:,} bytes here {where}, and compiled for {rows[0]['target']} nothing."
            return verdict.result, reason
    return None


def measured_launches(record: Exercise | Witness, judged: list[Judged]) -> list[KernelLaunch]:
    """The launches whose spills are judged: those of the largest case, where the record limits them."""
    if not isinstance(record, Exercise) or record.spills is None:
        return []
    largest = _largest(record, judged)
    launches = largest.outcome.launches if largest and largest.outcome else ()
    return [launch for launch in launches if isinstance(launch, KernelLaunch)]


def judge_spills(record: Exercise, judged: list[Judged], compiled: Figures) -> list[CaseResult]:
    """Returns what a thread spills in the largest case whose inputs are contiguous, where the record limits it and all
    compiled. Longer rows, whose traffic is not judged either, may spill.
    """
    results = _spills(record, judged, compiled)
    return _as_charged(results, record, judged, lambda wide, part: _spills(wide, part, compiled))


def _spills(record: Exercise, judged: list[Judged], compiled: Figures) -> list[CaseResult]:
    largest = _largest(record, judged)
    if record.spills is None or compiled["status"] != "pass" or largest is None:
        return []
    launches = measured_launches(record, judged)
    rows = [row for row in compiled["targets"] if any(map(_is_among([row]), launches))]
    worst = max(rows, key=lambda row: row["spills"] or 0, default=None)
    if worst is None:
        return [_found(record, SPILLS, "not-run", "No launch of the largest case was compiled.")]
    spilled, most = worst["spills"] or 0, record.spills
    message = f"A thread of {worst['kernel']} spills {spilled:,} bytes on {worst['target']}; up to {most} are accepted"
    inputs = largest.result.inputs
    if spilled <= most:
        return [_found(record, SPILLS, "pass", f"{message}.", inputs)]
    message = f"{message} (in the launch with {worst['launch']})."
    cure = "take smaller blocks, one after the other"
    if f"num_warps={_MOST_WARPS}" not in worst["launch"]:
        cure = f"launch it with more warps, of which there are up to {_MOST_WARPS}"
    hint = f"{_SPILLED}{cure}, or hold fewer tensors at once."
    return [_found(record, SPILLS, "fail", message, inputs, hint=hint)]


def _is_among(rows: list[Figures]) -> Callable[[KernelLaunch | str], bool]:
    """Returns whether a launch is of a form that one of these rows of a report is about."""
    forms = [(row["kernel"], f"{row['launch']}, ") for row in rows]

    def is_among(launch: KernelLaunch | str) -> bool:
        if isinstance(launch, str):
            return False
        form = f"{', '.join(launch.parts())}, "
        return any(launch.kernel == kernel and described.startswith(form) for kernel, described in forms)

    return is_among


def _somewhere(rows: list[Figures]) -> bool:
    """Says whether all that was compiled for some target compiles for it: then the answer runs, but not everywhere."""
    failing = {row["target"] for row in rows if row["status"] == "fail"}
    return bool({row["target"] for row in rows if row["status"] == "pass"} - failing)


def _measurable(record: Exercise, judged: list[Judged]) -> list[Judged]:
    """Returns what came of the cases that every answer has to pass, and that end with a result."""
    pairs = zip(record.cases, judged, strict=True)
    return [verdict for case, verdict in pairs if verdict.args and not case.raises and not case.bonus]


def _largest(record: Exercise, judged: list[Judged]) -> Judged | None:
    """Returns what came of the largest case whose inputs are contiguous; one in half precision in which the answer
    itself gave no result is passed over, if another is there.
    """
    least_bytes = record.least_bytes or (lambda *args: _bytes(args))
    fit = [verdict for verdict in _measurable(record, judged) if _contiguous(verdict.args)]
    fit.sort(key=lambda verdict: least_bytes(*verdict.args), reverse=True)
    measured = (verdict for verdict in fit if not (verdict.result.half and _without_result(verdict)))
    return next(measured, next(iter(fit), None))


def _without_result(verdict: Judged) -> bool:
    """Says whether the answer gave no result by itself: it raised, was refused or converted. Where its process or its
    time ended, no other case is measured.
    """
    return verdict.trouble is not None and verdict.trouble.kind not in ("crashed", "timeout", "memory")


def _not_measured(record: Exercise, name: str, largest: Judged | None) -> CaseResult:
    reason = "No case measures it."
    if largest:
        reason = f"It is measured in the case “{largest.result.name}”, which gave no result."
    return _found(record, name, "not-run", reason)


def _found(record: Exercise, name: str, status: CaseStatus, message: str, inputs: str = "", **more: Any) -> CaseResult:
    """The result of a measurement. more: fields of it. What was measured is the point of some exercises; in all others
    it belongs to the layouts.
    """
    more.setdefault("kind", Quality.EFFICIENT)
    more["category"] = Category.POINT if name in record.about else Category.LAYOUTS
    more["flaw"] = Flaw.VALUES if status in ("fail", "error") else None
    return CaseResult(name, status, False, message, inputs, **more)


def _failed(reason: str, kind: Quality) -> tuple[Figures, list[CaseResult]]:
    report = {"status": "fail", "reason": reason, "targets": []}
    return report, [_compiled("fail", reason, "", kind)]


def _compiled(
    status: CaseStatus, reason: str, hint: str, kind: Quality, category: Category = Category.PLAIN
) -> CaseResult:
    """Returns what a GPU does not take computes nothing there. category: of what it does not take."""
    flaw = Flaw.VALUES if status == "fail" else None
    return CaseResult(COMPILE, status, False, reason, "", hint, kind=kind, category=category, flaw=flaw)


def _bytes(tensors: Args) -> int:
    """The bytes of contiguous tensors: each element counts once, however many programs use it."""
    return sum(t.numel() * t.element_size() for t in Tree(tensors).tensors)


def _needed(args: Args) -> int:
    """The bytes that a result may depend on: where an argument is a mask, those that it makes True of each other one of
    its shape.
    """
    tensors = Tree(args).tensors
    kept = {t.shape: int(t.sum()) for t in tensors if t.dtype == torch.bool}
    return sum(
        (t.numel() if t.dtype == torch.bool else kept.get(t.shape, t.numel())) * t.element_size() for t in tensors
    )


def _contiguous(args: Args) -> bool:
    return all(a.is_contiguous() for a in Tree(args).tensors) and not Tree(args).any_empty
