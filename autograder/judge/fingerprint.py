"""Whose bug is this? The report names the library that was wrong in the same way as the answer."""

import torch

from ..runner import Args, map_tensors
from .closeness import Wrong
from .records.record import Bug, Exercise
from .ulp import ulp_error

SHARED, EACH = 0.9, 0.5  # of the wrong elements: on average over the failing calls, and in each of them
GROSS, BEYOND = 64.0, 4.0  # ulp, and times what is allowed: an error below either may be mere rounding, which no two
# programs do alike, and which is many ulp where the right value is next to 0
HALVED = {torch.float16: 1024.0, torch.bfloat16: 128.0}  # and so may, where a program computes in half precision, one
# below half of the value
CLOSE, NEAR = 4.0, 1 / 16  # an answer shares a bug's value within 4 ulp, or within a sixteenth of its error,
LIKE = 1 / 4  # and never where it is hardly nearer to the bug's value than to the right one


# The arguments of a failing call, and what was wrong: its outputs, or the name of the error that the answer raised.
Evidence = list[Wrong] | str
Failing = tuple[Args, Evidence]


def fingerprint(exercise: Exercise, failures: list[Failing], failing: frozenset[str]) -> Bug | None:
    """The bug or mistake that explains every failing call, or None.

    failing: the names of the cases that failed; a bug that is here fails the one that was made to see it.
    failures: the failing calls.
    A bug explains a call where it gives the same values on the wrong elements, computed in the dtype of the inputs as
    it shipped, or in float32; or where it raises the same error, which is not enough where values are wrong, too. An
    error that is not the bug's says nothing about it. Where some values are grossly wrong, only those are looked at.
    """
    failures = _telling(failures)
    likely = {}
    for bug in exercise.wild:
        if bug.seen_by not in failing:
            continue
        values = [_share(exercise, bug, *one) for one in failures if not isinstance(one[1], str)]
        errors = [_share(exercise, bug, *one) for one in failures if isinstance(one[1], str)]
        told = [share for share in values or errors if share is not None]  # many bugs raise one error in many cases
        every = [share for share in values + errors if share is not None]
        if told and min(every) >= EACH and sum(told) >= SHARED * len(told):
            likely[bug] = sum(every)
    return max(likely, key=lambda bug: likely[bug], default=None)


def _telling(failures: list[Failing]) -> list[Failing]:
    """The calls with gross errors, reduced to these; every call as it is, where no error is gross."""
    gross: list[Failing] = []
    for args, evidence in failures:
        if isinstance(evidence, str):
            gross.append((args, evidence))
            continue
        reduced = [Wrong(one.actual, _gross(one), one.error, one.allowed) for one in evidence]
        if any(one.mask.any() for one in reduced):
            gross.append((args, reduced))
    return gross or failures


def _gross(one: Wrong) -> torch.Tensor:
    return one.mask & (one.error > HALVED.get(one.actual.dtype, GROSS)) & ~(one.error <= BEYOND * one.allowed)


def wild_outputs(exercise: Exercise, bug: Bug, args: Args) -> list[tuple[torch.Tensor, ...]]:
    """What the bug computes from these arguments: in their dtype, and in float32 rounded at the end."""
    wide = map_tensors(lambda a: a.float() if a.is_floating_point() else a, args)
    function = exercise.contract.with_gradient(bug.function)
    as_shipped, in_single = (exercise.contract.results_of(function, given) for given in (args, wide))
    return [as_shipped, tuple(o.to(like.dtype) for o, like in zip(in_single, as_shipped, strict=True))]


def _share(exercise: Exercise, bug: Bug, args: Args, evidence: Evidence) -> float | None:
    """The share of the wrong elements on which the bug computes the same, in whichever precision fits better. Among
    them are those where the bug gives a NaN or an infinity and the answer is right: it has another bug.

    1 where both raise the same error; None where the answer's error is one that the bug does not raise.
    """
    try:
        computed = wild_outputs(exercise, bug, args)
    except Exception as raised:
        return float(evidence == type(raised).__name__)
    if isinstance(evidence, str):
        return None
    best = 0.0
    for theirs in computed:
        wrong = same = 0
        for (actual, mask, error, allowed), their in zip(evidence, theirs, strict=True):
            apart = ulp_error(actual, their, actual.dtype)
            close = ((apart <= CLOSE) | (apart <= NEAR * error)) & (apart <= LIKE * error) & apart.isfinite()
            theirs_alone = (error <= allowed) & apart.isinf()
            wrong, same = wrong + int((mask | theirs_alone).sum()), same + int((mask & close).sum())
        best = max(best, same / wrong if wrong else 0.0)
    return best
