"""Judging a witness: an input on which a wild bug is wrong and right code is not."""

from dataclasses import replace

import torch

from .case import UNJUDGED, Judged
from .compare import compare, expect
from .exercise import Case, Witness
from .report import CaseResult
from .runner import Runner, as_tuple


def judge_witness(record: Witness, runner: Runner) -> list[Judged]:
    """Three cases: the input is one the contract allows, right code is right on it, and the bug is wrong on it."""
    names = ("a valid input", "right code is right on it", f"{record.bug.who} is wrong on it")
    outcome = runner.call(())
    if outcome.trouble:
        first = _case(names[0], "error", outcome.trouble.message, record, details=outcome.trouble.details)
        first = replace(first, kind=None if outcome.trouble.kind in UNJUDGED else first.kind)
        return [
            Judged(first, outcome.trouble),
            *(Judged(_case(n, "not-run", "There is no input.", record)) for n in names[1:]),
        ]
    args = outcome.outputs
    complaint = _complaint(record, args)
    if complaint:
        rest = [Judged(_case(n, "not-run", "The input is not valid.", record)) for n in names[1:]]
        return [Judged(_case(names[0], "fail", complaint, record)), *rest]
    case = Case("witness", lambda generator: args, record.hint)
    exercise = record.exercise
    expected = expect(exercise, case, args)
    named = dict(zip(exercise.parameters, args, strict=False))

    def failures(outputs) -> list:
        return [
            c
            for c in (compare(expected, i, o, named) for i, o in enumerate(as_tuple(outputs)))
            if c.failure or c.complaint
        ]

    right = tuple(v.to(d) for v, d in zip(expected.values, expected.dtypes, strict=True))
    results = [_case(names[0], "pass", "", record)]
    honest = failures(exercise.peer(*args)) if exercise.peer else failures(right)
    if honest:
        results.append(
            _case(names[1], "fail", "PyTorch itself is outside the tolerance here: this input is out of range.", record)
        )
    else:
        results.append(_case(names[1], "pass", "", record))
    results.append(_bug_case(names[2], record, args, failures))
    return [Judged(r) for r in results]


def _bug_case(name: str, record: Witness, args: tuple, failures) -> CaseResult:
    try:
        wrong = failures(record.bug.function(*args))
    except Exception as error:
        return _case(name, "pass", f"It raises {type(error).__name__}: {error}", record)
    if not wrong:
        return _case(name, "fail", f"{record.bug.who} is right on this input, within the tolerance.", record)
    f = wrong[0].failure
    at = ", ".join(f"{k} = {v:g}" for k, v in f.inputs.items())
    return _case(name, "pass", f"It gives {f.output} = {f.got:g} where {at}; right is {f.expected:g}.", record)


def _complaint(record: Witness, args: tuple) -> str:
    """Why these are no arguments of the exercise; "" if they are."""
    for name, value in zip(record.parameters, args, strict=False):
        if not isinstance(value, torch.Tensor):
            continue
        if not value.numel():
            return f"{name} is empty."
        if value.is_floating_point() and not value.isfinite().all():
            return f"{name} holds NaN or infinity. A witness is an ordinary, finite input."
        if value.is_floating_point() and value.dtype == torch.float64:
            return f"{name} is float64. Use float32, float16 or bfloat16."
    tensors = [isinstance(a, torch.Tensor) for a in args]
    if not any(tensors):
        return f"Return tensors: ({', '.join(record.parameters)})."
    return record.complaint(*args)


def _case(name: str, status: str, message: str, record: Witness, details: str = "") -> CaseResult:
    return CaseResult(
        name, status, False, message, "", record.hint if status in ("fail", "error") else "", details=details
    )
