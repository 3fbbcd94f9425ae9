"""Says how wrong values are related to the right ones, in a sentence, where the relation is simple and no accident: a
constant factor, the sign, the values of another output, row or call, an input that has no effect.
"""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import torch

from ...runner import Args, Tree
from ..comparing.closeness import Comparison, Expected, expect
from ..records.record import Case, Exercise
from ..records.ulp import comparable
from .changed_formula import changed_formulas
from .changed_inputs import changed
from .changed_step import changed_steps
from .place import place
from .up_to import spelled

NEARLY = 0.98  # of the elements that a relation is about have it
FEWEST = 4  # different elements
KNOWN = 0.5  # a factor is, where the tolerance leaves less of it open
LEAST = 3.0  # bits that an element gives, or none: rounding errors of a row are alike
EACH, CERTAIN = 20.0, 40.0  # bits of evidence: the most that an element gives, and what makes an accident impossible
LARGEST = 1 << 18  # elements of the arguments: a larger case would take long to work out again and again
Guess = tuple[torch.Tensor, torch.Tensor]  # values that may be those of an answer, and how far off they may be


@dataclass(frozen=True)
class WrongCall:
    """A call that gave wrong values. wrong: the outputs that are. earlier: what the answer returned for the cases
    before.
    """

    exercise: Exercise
    case: Case
    args: Args
    expected: Expected
    outputs: Args
    wrong: "tuple[_Output, ...]"
    earlier: dict[str, Args]

    @functools.cached_property
    def named(self) -> dict[str, Any]:
        """All arguments by name, also those that have a default."""
        bound = self.exercise.oracle_signature.bind(*self.args)
        bound.apply_defaults()
        return bound.arguments


@dataclass(frozen=True)
class _Output:
    """An output with wrong elements. actual, exact: float64. near: how far off a right element may be, absolutely;
    infinite or NaN where it is not judged. mask: of the wrong elements. rounding: what the dtype may be off by,
    relatively.
    """

    number: int
    name: str
    actual: torch.Tensor
    exact: torch.Tensor
    near: torch.Tensor
    mask: torch.Tensor
    rounding: float

    def is_guessed(self, guess: Guess, everywhere: bool = False, fitted: int = 0) -> bool:
        """Returns whether the answer gives the guessed values in place of the right ones, and not by accident.

        everywhere: also where the answer is right; what is unlike the guess is few beside the wrong elements, which may
            be few themselves. fitted: how many elements the guess was fitted to.
        """
        values, near = guess[0].double(), guess[1]
        near = near + self.rounding * values.abs()
        finite = self.exact.isfinite() & self.near.isfinite() & values.isfinite() & near.isfinite()
        about = finite if everywhere else finite & self.mask
        same = (self.actual - values).abs() <= near
        wrong = self.mask.sum()
        if (finite & self.mask).sum() < NEARLY * wrong or (about & ~same).sum() > (1 - NEARLY) * wrong:
            return False
        telling = same & about & self.mask
        return _is_certain(self.actual[telling], self.exact[telling], near[telling], fitted)


def _is_certain(actual: torch.Tensor, exact: torch.Tensor, near: torch.Tensor, fitted: int) -> bool:
    """Returns whether values that are off by |actual - exact| come within ``near`` of others by no accident: each does
    with a probability of the order of near / |actual - exact|. Equal values count once.
    """
    _, which = torch.unique(torch.stack((actual, exact)), dim=1, return_inverse=True)
    bits = torch.log2((actual - exact).abs() / near.clamp(min=torch.finfo(torch.float64).tiny)).clamp(0, EACH)
    bits = bits.masked_fill(bits < LEAST, 0.0)
    different = torch.zeros(int(which.max()) + 1 if which.numel() else 0, dtype=torch.float64)
    different[which] = bits
    return different.numel() >= FEWEST + fitted and bool(different.sum() >= CERTAIN + fitted * EACH)


def relation(
    exercise: Exercise,
    case: Case,
    args: Args,
    expected: Expected,
    compared: Sequence[Comparison],
    outputs: Args,
    earlier: dict[str, Args],
) -> str:
    """The sentence, or "" where there is none. outputs: of the call, wrong somewhere. earlier: what the answer returned
    in the cases before, by their names.
    """
    wrong = tuple(_wrong(expected, compared, outputs))
    call = WrongCall(exercise, case, args, expected, outputs, wrong, earlier)
    simple = _kept, _copied, _constant, _scaled, _shifted, _inverted
    for find in (*simple, _changed, _otherwise, _misplaced, _by_step, _by_input, _by_line):
        if sentence := find(call):
            return sentence
    arguments = {name: comparable(a) if isinstance(a, torch.Tensor) else a for name, a in call.named.items()}
    return next(
        filter(None, (place(output.name, output.mask, output.exact, output.near, arguments) for output in call.wrong)),
        "",
    )


def _wrong(expected: Expected, compared: Sequence[Comparison], outputs: Args) -> Iterator[_Output]:
    for number, (comparison, actual) in enumerate(zip(compared, outputs, strict=True)):
        if comparison.wrong is not None and comparison.wrong.any():
            near = expected.allowed[number] * expected.sizes[number]
            name, exact = expected.names[number], expected.values[number].double()
            rounding = torch.finfo(actual.dtype).eps if actual.is_floating_point() else 0.0
            yield _Output(number, name, actual.detach().double(), exact, near, comparison.wrong, rounding)


def _terms_off(call: WrongCall) -> Iterator[_Output]:
    """The wrong outputs; then each less an input that may be its last term, such as ``y - bias``."""
    yield from call.wrong
    for output in call.wrong:
        for name, value in Tree(call.args).named(call.exercise.parameters).items():
            if output.exact.dim() == 2 and value.is_floating_point() and value.shape == output.exact.shape[1:]:
                last = value.double()
                yield replace(
                    output, name=f"{output.name} - {name}", actual=output.actual - last, exact=output.exact - last
                )


def _kept(call: WrongCall) -> str:
    """Results of an earlier call."""
    for name, outputs in call.earlier.items():
        # A list that is written had fewer tensors.
        for output in (output for output in call.wrong if output.number < len(outputs)):
            before = outputs[output.number]
            same = before.shape == output.actual.shape and torch.equal(before.double(), output.actual)
            if same and output.actual.unique().numel() >= FEWEST:
                return (
                    f"{output.name} is, bit for bit, the result of the case “{name}”: keep nothing of an earlier call."
                )
    return ""


def _copied(call: WrongCall) -> str:
    """The values of another output, or of an input."""
    sources = {}
    for output in call.wrong:
        for number, values in enumerate(call.expected.values):
            near = call.expected.allowed[number] * call.expected.sizes[number]
            if number != output.number and values.shape == output.exact.shape and output.is_guessed((values, near)):
                sources[output.number] = number
    for first, second in sources.items():
        names = call.expected.names[first], call.expected.names[second]
        if sources.get(second) == first:
            return f"{names[0]} and {names[1]} are exchanged."
        return f"{names[0]} has the values that {names[1]} should have."
    for output in call.wrong:
        for name, value in Tree(call.args).named(call.exercise.parameters).items():
            if value.shape != output.exact.shape:
                continue
            values = value.double()
            near = output.near * (values / output.exact).abs().clamp(max=1.0)  # of right values that may be far larger
            if output.is_guessed((values, near)):
                return f"{output.name} has the values of the input {name}."
    return ""


def _constant(call: WrongCall) -> str:
    """One value in all wrong elements."""
    for output in call.wrong:
        values, right = output.actual[output.mask], output.exact[output.mask]
        if right.unique().numel() >= 2 * FEWEST and values.numel() and bool((values == values[0]).all()):
            where = "everywhere" if output.mask.all() else "in every wrong element"
            return f"{output.name} is {values[0]:g}{_right_at(output, values[0])} {where}."
    return ""


def _right_at(output: _Output, value: torch.Tensor) -> str:
    """The first or last element, in words, where this is its right value; "" of 0 and of other values."""
    for at in (0, -1) if value else ():
        if (output.exact.flatten()[at] - value).abs() <= output.near.flatten()[at]:
            return f", which is right for the {'last' if at else 'first'} element alone,"
    return ""


def _scaled(call: WrongCall) -> str:
    """A constant factor."""
    for output in _terms_off(call):
        factor, apart = _ratio(output)
        guess = _times(output, torch.tensor(factor))
        if factor and apart < KNOWN and output.is_guessed(guess, fitted=1):
            everywhere = output.is_guessed(guess, everywhere=True, fitted=1)
            start = f"{output.name} is" if everywhere else f"Where {output.name} is wrong, it is"
            if abs(factor + 1) <= apart:
                return f"{start} what is right with the other sign."
            return f"{start} {spelled(factor, apart, call.named)} times what is right."
    return ""


def _times(output: _Output, factor: torch.Tensor) -> Guess:
    """Returns what is right times a factor; a wrong term may have cost as many digits again."""
    return output.exact * factor, 2 * output.near * factor.abs().clamp(min=1.0)


def _ratio(output: _Output) -> tuple[float, float]:
    """The median of actual / exact over the wrong elements that are not small; how far, relatively, it may be off."""
    finite = (
        output.mask & output.exact.isfinite() & output.actual.isfinite() & output.near.isfinite() & (output.exact != 0)
    )
    if not finite.any():
        return 0.0, 0.0
    large = finite & (output.exact.abs() >= output.exact[finite].abs().median())
    ratios = output.actual[large] / output.exact[large]
    factor = float(ratios.median())
    apart = float((output.near[large] / output.exact[large].abs()).median())
    return factor, apart / max(abs(factor), 1e-300) if factor else 0.0


def _shifted(call: WrongCall) -> str:
    """A constant term."""
    for output in call.wrong:
        finite = output.mask & output.exact.isfinite() & output.actual.isfinite()
        if not finite.any():
            continue
        term = float((output.actual - output.exact)[finite].median())
        if output.is_guessed((output.exact + term, 2 * output.near), fitted=1):
            where = "everywhere" if output.mask.all() else "in every wrong element"
            return f"{output.name} is too {'large' if term > 0 else 'small'} by {abs(term):.4g} {where}."
    return ""


def _inverted(call: WrongCall) -> str:
    """1 over what is right."""
    for output in call.wrong:
        guess = 1 / output.exact
        near = 2 * output.near * (guess / output.exact).abs()
        if output.is_guessed((guess, near), everywhere=True):
            return f"{output.name} is 1 / what is right."
    return ""


def _by_input(call: WrongCall) -> str:
    """The right values times an input, or divided by it."""
    for output in call.wrong:
        for name, value in Tree(call.args).named(call.exercise.parameters).items():
            if value.shape != output.exact.shape or not value.is_floating_point():
                continue
            factor = comparable(value).double()
            for words, by in (("times", factor), ("divided by", 1 / factor)):
                if output.is_guessed(_times(output, by), everywhere=True):
                    return f"{output.name} is what is right {words} {name}."
    return ""


def _misplaced(call: WrongCall) -> str:
    """The right values of another row or column, or of the other corner."""
    for output in call.wrong:
        for words, move in _moves(output.exact):
            if output.is_guessed((move(output.exact), move(output.near))):
                return f"{output.name} has right values in wrong places: {words}."
    return ""


def _moves(exact: torch.Tensor) -> Iterator[tuple[str, Callable[[torch.Tensor], torch.Tensor]]]:
    """Ways to take the elements of a tensor of this shape for others, in words."""
    lines = {1: ("element",), 2: ("row", "column")}.get(exact.dim())
    for dim, size in enumerate(exact.shape):
        line = lines[dim] if lines else f"index of dimension {dim}"
        for at, which in ((0, "first"), (size - 1, "last")) if size > 1 else ():
            yield f"every {line} is the {which}", functools.partial(_repeated, dim=dim, at=at)
        for by, which in ((1, "before"), (-1, "after")) if size > 2 else ():
            yield f"every {line} is the one {which} it", functools.partial(torch.roll, shifts=by, dims=dim)
        if size > 1:
            yield f"every {line} is the one as far from the end", functools.partial(torch.flip, dims=(dim,))
    if exact.dim() > 1:
        yield "they lie in the order of the transposed matrix", lambda values: values.mT.reshape(values.shape)


def _repeated(values: torch.Tensor, dim: int, at: int) -> torch.Tensor:
    return values.narrow(dim, at, 1).expand(values.shape)


def _changed(call: WrongCall) -> str:
    """Returns what is right for other arguments."""
    if sum(t.numel() for t in Tree(call.args).tensors) > LARGEST:
        return ""
    some: list[str] = []
    for words, args in changed(call.exercise.oracle_signature.parameters, tuple(call.named.values())):
        with suppress(Exception):  # these need not be arguments that the oracle takes, or the floor
            other = expect(call.exercise, call.case, args)
            names = [output.name for output in call.wrong if _is_result(output, other)]
            if names:
                some.append(f"{_listed(names)} as if {words}.")
            if len(names) == len(call.wrong):
                return some[-1]
    return some[0] if some else ""


def _otherwise(call: WrongCall) -> str:
    """Returns what the formula gives where every mean is something else."""
    if sum(t.numel() for t in Tree(call.args).tensors) > LARGEST:
        return ""
    for words, mode in changed_formulas():
        with suppress(Exception):  # along another axis shapes need not fit
            with mode:
                values = call.exercise.exact(call.args)
            names = [output.name for output in call.wrong if mode.changed and _fits(output, values[output.number])]
            if names:
                return f"{_listed(names)} as if {words}."
    return ""


def _by_step(call: WrongCall) -> str:
    """Returns what the formula gives where one of its steps is another; "" where two changes give as many of the
    outputs, of which these numbers do not tell which it was.
    """
    exercise = call.exercise
    args = exercise.widened(tuple(call.named.values()))
    named = dict(zip(call.named, args, strict=True))
    fitting: dict[str, list[str]] = {}
    with suppress(Exception):  # an oracle need not be computed step by step
        for words, values in changed_steps(lambda: Tree.of(exercise.oracle(*args)).leaves, named):
            names = [output.name for output in call.wrong if _fits(output, values[output.number])]
            fitting[words] = max(names, fitting.get(words, []), key=len)
    most = max(map(len, fitting.values()), default=0)
    best = [words for words, names in fitting.items() if most and len(names) == most]
    return f"{_listed(fitting[best[0]])} as if {best[0]} in {exercise.summary}." if len(best) == 1 else ""


def _fits(output: _Output, values: torch.Tensor) -> bool:
    """Returns whether these values of a changed formula, one of a hundred, are the answer's. Each may be off by as
    large a share as half of the right ones may. Integers, of which there are few, come out alike by accident.
    """
    if values.shape != output.exact.shape or not output.rounding:
        return False
    shares = (output.near / output.exact.abs())[output.near.isfinite() & output.exact.isfinite() & (output.exact != 0)]
    near = torch.maximum(output.near, shares.median() * values.double().abs())
    return output.is_guessed((values, near), everywhere=True, fitted=1)


def _is_result(output: _Output, other: Expected) -> bool:
    values, near = other.values[output.number], other.allowed[output.number] * other.sizes[output.number]
    if values.dim() == output.exact.dim() == 2 and values.shape[1] > output.exact.shape[1]:  # of rows that went on
        values, near = (t[:, : output.exact.shape[1]] for t in (values, near))
    return values.shape == output.exact.shape and output.is_guessed((values, near), everywhere=True)


def _listed(names: list[str]) -> str:
    """``dx and dweight come out``."""
    if len(names) == 1:
        return f"{names[0]} comes out"
    return f"{', '.join(names[:-1])} and {names[-1]} come out"


def _by_line(call: WrongCall) -> str:
    """A factor of its own in each row or column, or a term."""
    for output in _terms_off(call):
        for dim, line in ((-1, "row"), (-2, "column")) if output.exact.dim() == 2 else ():
            if output.exact.shape[dim] <= FEWEST:
                continue
            finite = output.exact.isfinite() & output.actual.isfinite()
            factors = _medians(output.actual / output.exact, finite & (output.exact != 0), dim)
            terms = _medians(output.actual - output.exact, finite, dim)
            look = f"look at what is {'computed' if line == 'row' else 'loaded'} once a {line}."
            if output.is_guessed(_times(output, factors), everywhere=True, fitted=factors.numel()):
                return f"Each {line} of {output.name} is what is right times a factor of its own: {look}"
            if output.is_guessed((output.exact + terms, 2 * output.near), everywhere=True, fitted=terms.numel()):
                return f"Each {line} of {output.name} is off by a term of its own: {look}"
    return ""


def _medians(values: torch.Tensor, mask: torch.Tensor, dim: int) -> torch.Tensor:
    return values.masked_fill(~mask, math.nan).nanmedian(dim, keepdim=True).values
