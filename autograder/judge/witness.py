"""Judging a witness: an input on which a wild bug is wrong and right code is not.

The input may be anything that fits into a few tensors and numbers. What an exercise cannot take is the learner's error
and gets a sentence, not an exception.
"""

import inspect
from collections.abc import Callable
from dataclasses import replace

import torch

from ..runner import Args, Call, Runner, dtype_name, results_of
from .case_verdict import UNJUDGED, Judged
from .closeness import Comparison, compare_all, expect
from .records.record import Case, Witness
from .results.case_result import CaseResult, Status

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
# Of a tensor, and of all of them together: an input that shows a bug is small, and what is right is computed in the
# process that judges, with scores that grow as the square of it. The course's own witnesses take 1,536 at most.
DIMENSIONS, ELEMENTS = 8, 2048


def judge_witness(record: Witness, runner: Runner, seed: int = 0) -> list[Judged]:
    """Three cases: the input is one the contract allows, right code is right on it, and the bug is wrong on it. seed:
    draws which input is asked for, where there are several; an input that shows another of their bugs is told so.
    """
    asked = record.drawn(seed)
    outcome = runner.examine(Call((asked.exercise.name,) if record.others else ())).first
    if outcome.trouble:
        names = _names(asked)
        message = outcome.trouble.place + outcome.trouble.message
        first = _case(names[0], "error", message, asked, details=outcome.trouble.details)
        first = replace(first, kind=None if outcome.trouble.kind in UNJUDGED else first.kind)
        return [
            Judged(first, trouble=outcome.trouble),
            *(Judged(_case(n, "not-run", "There is no input.", asked)) for n in names[1:]),
        ]
    judged = _of_input(asked, outcome.outputs)
    if not _shown(judged) and (others := [one for one in record.all if _shown(_of_input(one, outcome.outputs))]):
        said = f" It shows the bug in {' and in '.join(one.exercise.name for one in others)}; "
        failed = next(number for number, one in enumerate(judged) if one.result.status == "fail")
        result = judged[failed].result
        message = f"{result.message}{said}asked for is {asked.exercise.name}."
        judged[failed] = replace(judged[failed], result=replace(result, message=message))
    return judged


def _names(record: Witness) -> tuple[str, str, str]:
    return "a valid input", "right code is right on it", f"{record.bug.who} is wrong on it"


def _shown(judged: list[Judged]) -> bool:
    return all(one.result.status == "pass" for one in judged)


def _of_input(record: Witness, args: Args) -> list[Judged]:
    """The three cases of an input."""
    names = _names(record)
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


def _judged(record: Witness, args: Args, names: tuple[str, str]) -> list[Judged]:
    """Right code and the bug on a valid input."""
    case = Case("witness", lambda generator: args, record.hint)
    exercise = record.exercise
    expected = expect(exercise, case, args)

    def compared(outputs: Args) -> list[Comparison]:
        return compare_all(expected, outputs, exercise.named(args))

    right = tuple(v.to(d) for v, d in zip(expected.values, expected.dtypes, strict=True))
    honest = _failing(compared(results_of(exercise.contract, exercise.peer, args) if exercise.peer else right))
    status: Status = "pass"
    message = ""
    if honest:
        status, message = "fail", "PyTorch itself is outside the tolerance here: this input is out of range."
    results = [_case(names[0], status, message, record), _bug_case(names[1], record, args, compared)]
    return [Judged(r) for r in results]


def _failing(compared: list[Comparison]) -> list[Comparison]:
    return [c for c in compared if c.failure or c.complaint]


def _bug_case(name: str, record: Witness, args: Args, compared: Callable[[Args], list[Comparison]]) -> CaseResult:
    try:
        found = compared(results_of(record.exercise.contract, record.bug.function, args))
    except Exception as error:
        return _case(name, "pass", f"It raises {type(error).__name__}: {error}", record)
    wrong = _failing(found)
    if not wrong:
        return _case(name, "fail", _not_enough(record, max(found, key=lambda c: c.used)), record)
    f = wrong[0].failure
    if f is None:
        return _case(name, "pass", wrong[0].complaint, record)
    at = ", ".join(f"{k} = {v:g}" for k, v in f.inputs.items())
    where = f" where {at}" if at else ""
    return _case(name, "pass", f"It gives {f.output} = {f.got:g}{where}; right is {f.expected:g}.", record)


def _not_enough(record: Witness, most: Comparison) -> str:
    """How far off the bug is on an input that is no witness."""
    if not most.error_there:
        return f"{record.bug.who} is exactly right on this input."
    off, enough = (value * most.step_there for value in (most.error_there, most.allowed_there))
    return (
        f"{record.bug.who} is off by {off:.2g} at most on this input; on a witness it is off by more than {enough:.2g}."
    )


def complaint_about(record: Witness, args: Args) -> str:
    """Why the exercise does not accept these arguments; "" if it does."""
    if not record.fewest <= len(args) <= len(record.parameters):
        count = f"{len(args)} {'value is' if len(args) == 1 else 'values are'}"
        return f"{record.exercise.name} takes ({', '.join(record.parameters)}), and {count} returned."
    given = [value for value in args if isinstance(value, torch.Tensor)]
    sizes = [max(value.numel(), *value.shape, 0) for value in given]
    if sum(sizes) > ELEMENTS:
        return f"The tensors have {sum(sizes):,} elements together, of at most {ELEMENTS:,}: a small input shows it."
    parameters = inspect.signature(record.exercise.oracle).parameters.values()
    for parameter, value in zip(parameters, args, strict=False):
        if parameter.default is None:  # what may be left out: the exercise's own complaint knows
            continue
        if parameter.default is not parameter.empty:
            kind = type(parameter.default)
            message = "" if type(value) is kind else f"should be {kind.__name__}, but is {type(value).__name__}"
        else:
            message = _of_tensor(value, integers=parameter.name in record.integers)
        if message:
            return f"{parameter.name} {message}."
    return record.complaint(*args)


def _of_tensor(value: object, integers: bool) -> str:
    """What is wrong with a tensor, to follow its name."""
    if not isinstance(value, torch.Tensor):
        return f"should be a tensor, but is {type(value).__name__}"
    if value.dim() > DIMENSIONS:
        return f"has {value.dim()} dimensions, of at most {DIMENSIONS}"
    dtype = dtype_name(value.dtype)
    if integers:
        return "" if value.dtype == torch.int64 else f"is {dtype}. Use int64"
    if value.dtype not in FLOATS:
        return f"is {dtype}. Use float32, float16 or bfloat16"
    return "" if value.isfinite().all() else "holds NaN or infinity. A witness is an ordinary, finite input"


def _case(name: str, status: Status, message: str, record: Witness, details: str = "") -> CaseResult:
    return CaseResult(
        name, status, False, message, "", record.hint if status in ("fail", "error") else "", details=details
    )
