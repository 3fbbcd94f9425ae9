"""Judging a witness: an input on which a wild bug is wrong and right code is not.

The input may be anything that fits into a few tensors and numbers. What an exercise cannot take is the learner's error
and gets a sentence, not an exception.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import torch

from ...runner import Args, Call, Outcome, Runner, Trouble, dtype_name
from ..comparing.closeness import Comparison, compare_all, expect
from ..records.record import Case, Witness
from ..results.case_result import CaseResult, CaseStatus
from .case_verdict import UNJUDGED, Judged

DIMENSIONS = 8  # of a tensor
VISIBLE = 0.02  # of the distance that is asked: what rounding costs beyond that is said
WitnessNames = tuple[str, str, str]  # of the cases of an input


def judge_witness(record: Witness, runner: Runner) -> list[Judged]:
    """Three cases for each input that the function is to give: the contract allows it, right code makes no error on
    it, and the bug makes one. An input that shows another of the bugs instead is told so.
    """
    judged: list[Judged] = []
    for asked, outcome in itertools.zip_longest(record.all, _outcomes(record, runner)):
        names = _names(asked, bool(record.others))
        if outcome is None:
            verdicts = [Judged(_case(name, "not-run", "The answer was not called again.", asked)) for name in names]
        elif outcome.trouble:
            verdicts = _without_input(asked, names, outcome.trouble)
        else:
            verdicts = _told(record, asked, names, outcome.outputs)
        judged += [
            replace(verdict, result=replace(verdict.result, suspect=asked.exercise.name)) for verdict in verdicts
        ]
    return judged


def _outcomes(record: Witness, runner: Runner) -> Iterator[Outcome]:
    """Yields what comes of each call, up to a trouble that no other call can mend, or that takes its time."""
    for asked in record.all:
        outcome = runner.examine(Call((asked.exercise.name,) if record.others else ())).first
        yield outcome
        if outcome.trouble and _is_last(outcome.trouble):
            return


def _is_last(trouble: Trouble) -> bool:
    return trouble.kind in (*UNJUDGED, "timeout") or bool(trouble.cell)


def _without_input(asked: Witness, names: WitnessNames, trouble: Trouble) -> list[Judged]:
    """The cases of a call that gave no input."""
    first = _case(names[0], "error", trouble.sentence, asked, details=trouble.details)
    if trouble.kind in UNJUDGED:
        first = replace(first, kind=None, code=trouble.reason)
    rest = (Judged(_case(name, "not-run", "There is no input.", asked)) for name in names[1:])
    return [Judged(first, trouble=trouble), *rest]


def _told(record: Witness, asked: Witness, names: WitnessNames, args: Args) -> list[Judged]:
    """The three cases of an input, which of the other bugs it shows among them."""
    judged = _of_input(asked, names, args)
    if not _shown(judged) and (
        others := [suspect for suspect in record.all if _shown(_of_input(suspect, names, args))]
    ):
        said = f" It shows the bug in {' and in '.join(other.exercise.name for other in others)}; "
        failed = next(number for number, trial in enumerate(judged) if trial.result.status == "fail")
        result = judged[failed].result
        message = f"{result.message}{said}asked for is {asked.exercise.name}."
        judged[failed] = replace(judged[failed], result=replace(result, message=message))
    return judged


def _names(asked: Witness, several: bool) -> WitnessNames:
    """Nouns, which claim nothing of an input that fails."""
    of = f"{asked.exercise.name}: " if several else ""
    return f"{of}a valid input", f"{of}no error of right code", f"an error of {asked.bug.who.rstrip(',')}"


def _shown(judged: list[Judged]) -> bool:
    return all(verdict.result.status == "pass" for verdict in judged)


def _of_input(record: Witness, names: WitnessNames, args: Args) -> list[Judged]:
    """The three cases of an input."""
    try:
        complaint = complaint_about(record, args)
        if not complaint:
            return [Judged(_case(names[0], "pass", "", record)), *_judged(record, args, names[1:])]
    except Exception as error:  # raised by the oracle, or by PyTorch's own function: so it does not take them
        message = " ".join(str(error).split())[:200]
        complaint = f"{record.exercise.name} cannot take this input ({type(error).__name__}: {message})."
    rest = [Judged(_case(n, "not-run", "The input is not valid.", record)) for n in names[1:]]
    invalid = replace(_case(names[0], "fail", complaint, record), hint="")  # which is about valid inputs
    return [Judged(invalid), *rest]


def _judged(record: Witness, args: Args, names: tuple[str, ...]) -> list[Judged]:
    """Right code and the bug on a valid input."""
    case = Case("witness", lambda generator: args, record.hint)
    exercise = record.exercise
    expected = expect(exercise, case, args)

    def compared(outputs: Args) -> list[Comparison]:
        return compare_all(expected, outputs, exercise.named(args))

    right = tuple(v.to(d) for v, d in zip(expected.values, expected.dtypes, strict=True))
    honest = _failing(compared(exercise.contract.results_of(exercise.peer, args) if exercise.peer else right))
    status: CaseStatus = "pass"
    message = ""
    if honest:
        who = "PyTorch itself" if exercise.peer else "The right result, rounded to its dtype,"
        status, message = "fail", f"{who} is outside the tolerance here: this input is out of range."
    results = [_case(names[0], status, message, record), _bug_case(names[1], record, args, expected.values, compared)]
    return [Judged(r) for r in results]


def _failing(compared: list[Comparison]) -> list[Comparison]:
    return [c for c in compared if c.failure or c.complaint]


def _bug_case(
    name: str, record: Witness, args: Args, right: Args, compared: Callable[[Args], list[Comparison]]
) -> CaseResult:
    """The case in which the bug is to be wrong. right: the right results."""
    try:
        comparisons = compared(record.exercise.contract.results_of(record.bug.function, args))
    except Exception as error:
        return _case(name, "pass", f"It raises {type(error).__name__}: {error}", record)
    wrong = _failing(comparisons)
    if not wrong:
        return _case(name, "fail", _not_enough(record, args, right, comparisons), record)
    f = wrong[0].failure
    if f is None:
        return _case(name, "pass", wrong[0].complaint, record)
    at = ", ".join(f"{k} = {v:g}" for k, v in f.inputs.items())
    where = f" where {at}" if at else ""
    sentence = f"It gives {f.output} = {f.got:g}{where}; right is {f.expected:g}."
    off, enough = abs(f.got - f.expected), f.allowed * f.step
    if math.isfinite(off):
        sentence += (
            f" It is off by {off:.2g}; asked for is more than {_asked(record, args, wrong[0], f.index, enough)}."
        )
    return _case(name, "pass", sentence, record)


def _not_enough(record: Witness, args: Args, right: Args, comparisons: list[Comparison]) -> str:
    """Returns how far off the bug is on an input that is no witness."""
    if not any(compared.error_there for compared in comparisons):
        return f"{record.bug.who} is exactly right on this input."
    asked = _apart(record, args)
    about = [number for number, output in enumerate(right) if asked is None or asked.dim() <= output.dim()]
    number = max(about or range(len(comparisons)), key=lambda number: comparisons[number].used)
    most = comparisons[number]
    off, enough = (value * most.step_there for value in (most.error_there, most.allowed_there))
    index = tuple(map(int, np.unravel_index(most.at, tuple(right[number].shape))))
    name = f"{record.exercise.results(args)[number].name} = " if len(right) > 1 else ""
    return (
        f"{record.bug.who} is off by {off:.2g} at most on this input, where "
        f"{name}{right[number].flatten()[most.at]:.3g} is right; a witness is off by more than "
        f"{_asked(record, args, most, index, enough)}."
    )


def _asked(record: Witness, args: Args, compared: Comparison, index: tuple[int, ...], enough: float) -> str:
    """The number that is asked, in figures and in words, and what rounding may cost beside it, of which the two are
    ``enough`` together.
    """
    number = _apart(record, args)
    if number is None:
        return f"{enough:.2g} here ({record.asked})"
    shape = compared.error.shape if compared.error is not None else number.shape
    if number.dim() > len(shape):  # what is asked is of another output
        return f"{enough:.2g} here"
    asked = float(number.expand(shape)[index])
    rounding = enough - asked
    more = f", plus {rounding:.2g} that rounding may cost" if rounding > VISIBLE * enough else ""
    return f"{asked:.2g} here ({record.asked}){more}"


def _apart(record: Witness, args: Args) -> torch.Tensor | None:
    """The number that is asked, for these arguments; None where that is all that the tolerance allows."""
    if record.apart is None:
        return None
    return torch.as_tensor(record.apart(*record.exercise.widened(args)), dtype=torch.float64)


def complaint_about(record: Witness, args: Args) -> str:
    """Why the exercise does not accept these arguments; "" if it does."""
    if not record.fewest <= len(args) <= len(record.parameters):
        count = f"{len(args)} {'value is' if len(args) == 1 else 'values are'}"
        return f"{record.exercise.name} takes ({', '.join(record.parameters)}), and {count} returned."
    tensors = [value for value in args if isinstance(value, torch.Tensor)]
    sizes = [max(value.numel(), *value.shape, 0) for value in tensors]
    if sum(sizes) > record.most:
        return f"The tensors have {sum(sizes):,} elements together, of at most {record.most:,}."
    parameters = record.exercise.oracle_signature.parameters.values()
    for parameter, value in zip(parameters, args, strict=False):
        if parameter.default is None:  # what may be left out: the exercise's own complaint knows
            continue
        if parameter.default is not parameter.empty:
            kind = type(parameter.default)
            message = "" if type(value) is kind else f"should be {kind.__name__}, but is {type(value).__name__}"
        else:
            message = _of_tensor(value, (torch.int64,) if parameter.name in record.integers else record.floats)
        if message:
            return f"{parameter.name} {message}."
    return record.complaint(*args)


def _of_tensor(value: object, dtypes: tuple[torch.dtype, ...]) -> str:
    """Returns what is wrong with a tensor, to follow its name. dtypes: those that it may have."""
    if not isinstance(value, torch.Tensor):
        return f"should be a tensor, but is {type(value).__name__}"
    if value.dim() > DIMENSIONS:
        return f"has {value.dim()} dimensions, of at most {DIMENSIONS}"
    if value.dtype not in dtypes:
        *others, last = map(dtype_name, dtypes)
        remedy = f"{', '.join(others)} or {last}" if others else last
        return f"is {dtype_name(value.dtype)}. Use {remedy}"
    return "" if value.isfinite().all() else "holds NaN or infinity. A witness is an ordinary, finite input"


def _case(name: str, status: CaseStatus, message: str, record: Witness, details: str = "") -> CaseResult:
    return CaseResult(
        name, status, False, message, "", record.hint if status in ("fail", "error") else "", details=details
    )
