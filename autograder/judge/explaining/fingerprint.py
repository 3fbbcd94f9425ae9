"""Names whose bug it is: The report names the library that was wrong in the same way as the answer."""

from dataclasses import dataclass, replace

import torch

from ...runner import Args, Tree
from ..comparing.closeness import Wrong
from ..records.record import Bug, Exercise, WildBug
from ..records.ulp import FLOAT8, PRECISION, comparable, ulp_error, ulp_size

SHARED, EACH = 0.9, 0.5  # of the wrong elements: on average over the failing calls, and in each of them
GROSS, BEYOND = 64.0, 4.0  # ulp, and times what is allowed: an error below either may be mere rounding, which no two
# programs do alike, and which is many ulp where the right value is next to 0
HALVED = {torch.float16: 1024.0, torch.bfloat16: 128.0}  # and so may, where a program computes in half precision, one
# below half of the value
CLOSE, NEAR = 4.0, 1 / 16  # an answer shares a bug's value within 4 ulp, or within a sixteenth of its error,
LIKE = 1 / 4  # and never where it is hardly nearer to the bug's value than to the right one
FEWEST, BITS = 4.0, 40.0  # what tells a bug from chance: distinct numbers that it shares, or the digits of these

_UNATTACHED = "Unattached"  # the error of a result that has no gradient

# What was wrong with a failing call: its outputs, or the name of the error that the answer raised.
Evidence = list[Wrong] | str


@dataclass(frozen=True)
class Failing:
    """A failing call: its case, the arguments, and what was wrong."""

    case: str
    args: Args
    evidence: Evidence


@dataclass(frozen=True)
class _Shared:
    """Holds what a bug makes of a failing call. wrong: how many elements the answer, or the bug grossly, has wrong.
    same: on how many of them both agree. every: whether on all of them but those that are off by no more than the
    largest result is rounded. distinct: how many numbers these are, of which one that is not finite counts as `FEWEST`.
    bits: the digits that they share.
    """

    wrong: int
    same: int
    every: bool
    distinct: float = FEWEST
    bits: float = 0.0

    @property
    def share(self) -> float:
        return self.same / self.wrong if self.wrong else 0.0


def fingerprint(exercise: Exercise, failures: list[Failing], failing: frozenset[str]) -> Bug | None:
    """The bug or mistake that explains every failing call, or None.

    failing: the names of the cases that failed; a bug that is here fails the one that was made to see it.
    failures: the failing calls.
    A bug explains a call where it gives the same values on the wrong elements, computed in the dtype of the inputs as
    it shipped, or in float32; or where it raises the same error, which is not enough where values are wrong, too. An
    error that is not the bug's says nothing about it beside values; where errors alone tell, all are the bug's. Where
    some values are grossly wrong, only those are looked at. In the case that was made to see the bug the answer repeats
    it in every element, and all calls together show that by more than chance (`FEWEST`, `BITS`). Elsewhere it may be
    right where the bug gives NaN or infinity: a guard at an edge makes no other formula of it.
    """
    failures = _telling(failures)
    likely = {}
    for bug in exercise.wild:
        if bug.seen_by not in failing:
            continue
        pairs = [(failure, _shared(exercise, bug, failure)) for failure in failures]
        values = [shared for match, shared in pairs if shared and not isinstance(match.evidence, str)]
        every = [shared for _, shared in pairs if shared]
        telling = values or every  # many bugs raise one error in many cases
        if not values and len(every) < len(pairs):
            continue
        seen = all(shared.every for match, shared in pairs if shared and match.case == bug.seen_by)
        if not (telling and seen and min(match.share for match in every) >= EACH):
            continue
        enough = sum(match.distinct for match in telling) >= FEWEST or sum(match.bits for match in telling) >= BITS
        if enough and sum(match.share for match in telling) >= SHARED * len(telling):
            likely[bug] = sum(match.share for match in every)
    return max(likely, key=lambda bug: likely[bug], default=None)


def _telling(failures: list[Failing]) -> list[Failing]:
    """The calls with gross errors, reduced to these; every call as it is, where no error is gross."""
    gross: list[Failing] = []
    for failure in failures:
        if isinstance(failure.evidence, str):
            gross.append(failure)
            continue
        reduced = [output._replace(mask=output.mask & _gross(output, output.error)) for output in failure.evidence]
        if any(output.mask.any() for output in reduced):
            gross.append(replace(failure, evidence=reduced))
    return gross or failures


def _gross(wrong: Wrong, error: torch.Tensor) -> torch.Tensor:
    """Returns whether no rounding explains an error, in ulp. A wrong float8 is another number, as an integer is."""
    if not wrong.actual.dtype.is_floating_point or wrong.actual.dtype in FLOAT8:
        return error > wrong.allowed
    return (error > HALVED.get(wrong.actual.dtype, GROSS)) & ~(error <= BEYOND * wrong.allowed)


def wild_outputs(exercise: Exercise, bug: Bug, args: Args) -> list[tuple[torch.Tensor, ...]]:
    """Returns what the bug computes from these arguments, in each of its forms: in their dtype, and in float32 rounded
    at the end.
    """
    wide = Tree(args).map(lambda a: a.float() if a.is_floating_point() else a)
    outputs: list[tuple[torch.Tensor, ...]] = []
    for form in (bug.function, *(bug.variants if isinstance(bug, WildBug) else ())):
        function = exercise.contract.with_gradient(form)
        as_shipped, in_single = (exercise.contract.results_of(function, inputs) for inputs in (args, wide))
        outputs += [as_shipped, tuple(o.to(like.dtype) for o, like in zip(in_single, as_shipped, strict=True))]
    return outputs


def _shared(exercise: Exercise, bug: Bug, failing: Failing) -> _Shared | None:
    """Returns what the bug makes of a call, in whichever precision fits better; None where the answer's error is one
    that the bug does not raise. A result that is not attached is another bug's where this one has a gradient.
    """
    evidence = failing.evidence
    try:
        computed = wild_outputs(exercise, bug, failing.args)
    except Exception as raised:
        alike = evidence == type(raised).__name__
        return _Shared(1, int(alike), alike)
    if isinstance(evidence, str):
        return _Shared(1, 0, False) if evidence == _UNATTACHED else None
    made_to_see_it = failing.case == bug.seen_by
    return max((_compared(evidence, theirs, made_to_see_it) for theirs in computed), key=lambda match: match.share)


def _compared(evidence: list[Wrong], theirs: Args, made_to_see_it: bool) -> _Shared:
    """The wrong elements of a call, among them those where the bug is grossly wrong and the answer right, beside what
    the bug computes. made_to_see_it: whether the call is of the bug's own case, where NaN and infinity count as well.
    """
    wrong, same, every, distinct, bits = 0, 0, True, 0.0, 0.0
    for output, their in zip(evidence, theirs, strict=True):
        apart = ulp_error(output.actual, their, output.actual.dtype)
        off = ((output.actual.double() - their.double()).abs() / output.sizes).where(
            apart.isfinite() & (apart > 0), apart
        )
        close = ((apart <= CLOSE) | (off <= NEAR * output.error)) & (off <= LIKE * output.error) & apart.isfinite()
        grossly = _gross(output, off) & ~_small(output, off)
        alone = (output.error <= output.allowed) & torch.where(apart.isinf(), made_to_see_it, grossly)
        shared = output.mask & close
        wrong, same = wrong + int((output.mask | alone).sum()), same + int(shared.sum())
        every &= not bool((output.mask & ~_small(output, output.error) & ~close | alone).any())
        actual = comparable(output.actual)
        finite = shared & actual.isfinite()
        numbers, place = actual[finite].unique(return_inverse=True)
        distinct += len(numbers) + FEWEST * bool((shared & ~finite).any())
        most = torch.zeros(len(numbers), dtype=torch.float64)
        bits += float(most.scatter_reduce(0, place, _digits(output, off)[finite], "amax").sum())
    return _Shared(wrong, same, every, distinct, bits)


def _small(output: Wrong, error: torch.Tensor) -> torch.Tensor:
    """Returns whether an error, in ulp, is no more than `CLOSE` ulp of the largest right result."""
    dtype = output.actual.dtype
    if not dtype.is_floating_point:
        return torch.zeros_like(output.mask)
    finite = output.sizes[output.sizes < ulp_size(torch.tensor(torch.inf), dtype)]  # of what is not NaN or infinity
    return error * output.sizes <= CLOSE * (finite.max() if finite.numel() else 0.0)


def _digits(wrong: Wrong, off: torch.Tensor) -> torch.Tensor:
    """Returns how many binary digits of its error an element shares."""
    return (wrong.error / off.clamp(min=0.5)).clamp(min=1).log2().clamp(max=PRECISION.get(wrong.actual.dtype, 24))
