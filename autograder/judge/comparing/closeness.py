"""An answer's outputs against the oracle's: shape, dtype, then every element in ulp. NaN-proof: an element is right
only if proven so.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from ...runner import Args, Tree, dtype_name
from ..records.record import Case, Exercise, Floors
from ..records.ulp import FLOAT8, comparable, ulp_error, ulp_size
from ..results.case_result import Failure

NEAR = 0.01
SMALL = 1e-2  # of the median: what is right there is nearly 0
FEW = 4  # integers that are shown for an element of the result
MANY = 64.0  # times what is allowed: where all results are close to 0, so is 1 % of them


@dataclass(frozen=True)
class Expected:
    """Holds what is right for one call, worked out from the inputs alone and kept away from the answer."""

    names: tuple[str, ...]
    dtypes: tuple[torch.dtype, ...]
    values: tuple[torch.Tensor, ...]  # float64, exact; integers and booleans as they are
    sizes: tuple[torch.Tensor, ...]  # of one ulp at each of them
    allowed: tuple[torch.Tensor, ...]  # tolerance in ulp, per element; inf where an element is not judged
    peers: tuple[torch.Tensor, ...] | None  # PyTorch's own values
    as_peer: torch.Tensor  # where they are as right as the oracle's: at infinity, where a convention decides
    unwritten: Args | None = None  # masks of what may hold anything; None where nothing may
    estimate: Floors | None = None  # of the tolerance; None where it is no estimate

    @property
    def layouts(self) -> tuple[tuple[torch.dtype, torch.Size], ...]:
        """The dtype and shape of each right result."""
        return tuple((dtype, value.shape) for dtype, value in zip(self.dtypes, self.values, strict=True))


@dataclass(frozen=True)
class Comparison:
    """One output against its oracle. ``complaint`` where they cannot even be compared."""

    complaint: str = ""
    error: torch.Tensor | None = None  # ulp, per element, 0 where not judged
    wrong: torch.Tensor | None = None
    worst: float = 0.0
    used: float = 0.0  # the largest share of the tolerance that an element takes
    error_there: float = 0.0  # of that element, in ulp
    allowed_there: float = 0.0
    step_there: float = 1.0  # one ulp there
    at: int = 0  # where it is, of all elements
    whole: bool = False  # whether it is an output of integers or booleans, whose differences are no ulp
    failure: Failure | None = None


def expect(
    exercise: Exercise, case: Case, args: Args, conventions: str = "course", estimate: Floors | None = None
) -> Expected:
    """The oracle in float64 on the inputs as they were rounded to their dtype, and the tolerance at every element.

    conventions: ``"pytorch"`` takes PyTorch's own values for right as well in a case that rests on a convention.
    estimate: of the tolerance, made for other numbers of the same shapes.
    """
    values, dtypes, results = exercise.exact(args), exercise.dtypes(args), exercise.results(args)
    estimate = estimate or exercise.estimate(args)
    floors = exercise.floors(args, case.bonus, estimate)
    sizes = tuple(ulp_size(value, dtype) for value, dtype in zip(values, dtypes, strict=True))
    allowed = []
    for value, size, bound, dtype in zip(values, sizes, floors, dtypes, strict=True):
        floor = torch.as_tensor(bound, dtype=torch.float64).nan_to_num(0, torch.inf)  # NaN where the input has one
        ulp = exercise.tolerance.ulp(dtype) + floor / size
        allowed.append(ulp.expand(value.shape).clone())
    if unwritten := exercise.unwritten(args):
        allowed = [a.masked_fill(left, math.inf) for a, left in zip(allowed, unwritten, strict=True)]
    tensors = [comparable(a) for a in Tree(args).tensors if a.is_floating_point()]
    infinite = torch.tensor(False)
    if tensors and all(t.shape == values[0].shape for t in tensors):
        infinite = torch.stack([t.isinf() for t in tensors]).any(0)
        if case.within is not None:
            outside = torch.stack([t.isfinite() & (t.abs() > case.within) for t in tensors]).any(0)
            allowed = [a.masked_fill(outside, math.inf) for a in allowed]
    as_peer = infinite | bool(exercise.either or (conventions == "pytorch" and case.convention))
    other = exercise.either or exercise.peer
    peers = exercise.contract.results_of(other, args) if other and as_peer.any() else None
    names = tuple(o.name for o in results)
    return Expected(names, dtypes, values, sizes, tuple(allowed), peers, as_peer, unwritten, estimate)


def compare(expected: Expected, index: int, actual: torch.Tensor, inputs: dict[str, torch.Tensor]) -> Comparison:
    """Output number ``index`` of an answer, judged."""
    name, dtype, exact = expected.names[index], expected.dtypes[index], expected.values[index]
    sizes = expected.sizes[index]
    complaint = unlike(name, actual, exact.shape, dtype)
    if complaint:
        return Comparison(complaint=complaint)
    allowed = expected.allowed[index]
    error = ulp_error(actual, exact, dtype, sizes)
    if expected.peers is not None:
        theirs = ulp_error(actual, expected.peers[index], dtype)
        error = torch.where(expected.as_peer, torch.minimum(error, theirs), error)
    whole = not dtype.is_floating_point
    bits = allowed == 0
    if not whole and bits.any():  # where bits are asked for 0 and -0 differ
        unlike_zeros = (actual == 0) & (exact == 0) & (comparable(actual).signbit() != exact.signbit())
        error = torch.where(unlike_zeros & bits, 1.0, error)
    judged = allowed.isfinite() | allowed.isnan()
    right = (error <= allowed) | ~judged
    error = error.masked_fill(~judged, 0.0)
    worst = float(error.max()) if error.numel() else 0.0
    if not error.numel():
        return Comparison(error=error, wrong=~right, whole=whole)
    shares = (error / allowed).nan_to_num(0.0, math.inf).flatten()
    most = int(shares.argmax())
    used = float(shares[most])
    if right.all():
        error_there, allowed_there = (float(t.flatten()[most]) for t in (error, allowed))
        step = float(sizes.flatten()[most])
        return Comparison("", error, ~right, worst, used, error_there, allowed_there, step, most, whole)
    failure = _failure(name, actual, exact, error, ~right, inputs)
    step = float(sizes[failure.index])
    failure = replace(failure, allowed=float(allowed[failure.index]), step=step)
    return Comparison(error=error, wrong=~right, worst=worst, used=used, whole=whole, failure=failure)


def compare_all(expected: Expected, outputs: Args, inputs: dict[str, torch.Tensor]) -> list[Comparison]:
    """Every output of an answer. inputs: the arguments by name."""
    return [compare(expected, index, output, inputs) for index, output in enumerate(outputs)]


def near(expected: Expected, outputs: Args) -> float:
    """The share of the outputs that are right within `NEAR`, whatever their dtype: by the root mean square of the
    error and of what is right, which an unlucky element does not decide. Integers are right as far as they are allowed
    to be off. Where NaN or infinity are right, anything is.
    """
    right = 0
    rows = zip(expected.dtypes, expected.values, expected.allowed, expected.sizes, outputs, strict=True)
    for dtype, exact, allowed, size, output in rows:
        value = exact.double()
        if output.shape == value.shape:
            finite = value.isfinite() & allowed.isfinite()
            exact, error = value[finite], (output.double() - value).abs()[finite]
            if dtype.is_floating_point:
                error = (error - MANY * (allowed * size)[finite]).clamp(min=0)
                right += bool(error.norm() <= NEAR * exact.norm())
            else:
                right += bool((error <= allowed[finite]).all())
    return right / len(expected.values)


class Wrong(NamedTuple):
    """An output that may be wrong: what tells one bug from another.

    mask: of the wrong elements. error, allowed: in ulp, of which ``sizes`` is one.
    """

    actual: torch.Tensor
    mask: torch.Tensor
    error: torch.Tensor
    allowed: torch.Tensor
    sizes: torch.Tensor


def evidence_of(expected: Expected, comparisons: list[Comparison], outputs: Args) -> list[Wrong]:
    """Returns what is wrong with each output of an answer. Raises ValueError where one could not be compared."""
    evidence = []
    rows = zip(outputs, comparisons, expected.allowed, expected.sizes, strict=True)
    for actual, comparison, allowed, sizes in rows:
        if comparison.wrong is None or comparison.error is None:
            raise ValueError(comparison.complaint)
        evidence.append(Wrong(actual, comparison.wrong, comparison.error, allowed, sizes))
    return evidence


def unlike(name: str, actual: torch.Tensor, shape: torch.Size, dtype: torch.dtype) -> str:
    """Why ``actual`` is not a tensor of this shape and dtype, in one sentence; empty if it is."""
    if actual.shape != shape:
        return f"{name} should have shape {tuple(shape)}, but has {tuple(actual.shape)}."
    if actual.dtype != dtype:
        return f"{name} should be {dtype_name(dtype)}, but is {dtype_name(actual.dtype)}."
    return ""


def _failure(
    name: str,
    actual: torch.Tensor,
    exact: torch.Tensor,
    error: torch.Tensor,
    wrong: torch.Tensor,
    inputs: dict[str, torch.Tensor],
) -> Failure:
    """The worst wrong element; among equals the first whose right value is not 0, which says more."""
    rank = torch.where(_plain_to_see(exact, error, wrong), error, -1.0).flatten()
    worst = rank == rank.max()
    telling = worst & (exact.flatten() != 0)
    flat = int((telling if telling.any() else worst).int().argmax())
    index = tuple(int(i) for i in np.unravel_index(flat, exact.shape))  # PyTorch's own imports SymPy
    beside = {k: v for k, v in inputs.items() if v.shape == exact.shape and _place(k) in ("", _place(name))}
    at = {k: v[index].item() for k, v in beside.items()}
    for k, v in inputs.items():  # the sizes of a product, where a result is one number of each
        if v.dim() and v.shape[:-1] == exact.shape and 0 < v.shape[-1] <= FEW and not v.is_floating_point():
            at |= {f"{k}[{', '.join(map(str, [*index, j]))}]": element for j, element in enumerate(v[index].tolist())}
    got, want = actual[index].item(), exact[index].item()
    codes = _codes(actual[index], exact[index]) if actual.dtype in FLOAT8 else None
    return Failure(name, index, got, want, float(error[index]), int(wrong.sum()), wrong.numel(), at, codes=codes)


def _codes(actual: torch.Tensor, exact: torch.Tensor) -> tuple[int, int]:
    """The bytes of a float8 and of what is right in its place. Beyond the largest number PyTorch's cast is NaN in some
    versions.
    """
    most = torch.finfo(actual.dtype).max
    right = exact.clamp(-most, most).to(actual.dtype)
    return int(actual.view(torch.uint8)), int(right.view(torch.uint8))


def _plain_to_see(exact: torch.Tensor, error: torch.Tensor, wrong: torch.Tensor) -> torch.Tensor:
    """The wrong elements of which one is shown: where the worst is next to a zero of what is right, at which a few
    digits are many ulp, those that are no smaller than half of the wrong ones.
    """
    size = exact.double().abs()
    countable = wrong & size.isfinite() & (size > 0) & error.isfinite()
    if not countable.any() or not error[wrong].isfinite().all():
        return wrong
    worst = size.flatten()[torch.where(countable, error, -1.0).flatten().argmax()]
    median = size[countable].median()
    return countable & (size >= median) if worst < SMALL * median else wrong


def _place(name: str) -> str:
    """``[2]`` of ``grads[2]``, the place in its list; "" of a tensor that is in none."""
    return "".join(name.partition("[")[1:])
