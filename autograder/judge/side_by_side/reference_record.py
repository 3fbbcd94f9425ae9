"""The exercise that a reference and its families make: `judge` judges it like any other."""

import math
from dataclasses import dataclass
from typing import Any

import torch

from ...runner import Args, CompareError, Tree
from ..records.category import Category
from ..records.derived import derived
from ..records.record import Case, Exercise, Floors, Output
from ..records.ulp import FLOAT8, HALVES, comparable, ulp_size
from .families import Family
from .reference import Reference, as_float32, parts, signed

GRADIENT = 8.0  # what the cancellation of another formula may cost
DRAWS = 100  # of a family that the reference took once
SEEDS = 1000  # of the cases of one seed: `judge.comparing.trial.arguments`
CATEGORY_OF = {"values": None, "sizes": None, "empty": Category.EDGES, "no columns": Category.EDGES}
CATEGORY_OF |= {"layout": Category.LAYOUTS, "dtype": Category.DTYPES}


@dataclass(frozen=True)
class Compared(Exercise):
    """An exercise whose results have the dtypes that the reference's own have for the same arguments."""

    reference: Reference | None = None
    above: int = 0  # upstream gradients, the last arguments

    def dtypes(self, args: Args) -> tuple[torch.dtype, ...]:
        """As the reference returns them; a gradient has the dtype of its argument, what is written its own."""
        assert self.reference is not None
        inputs = args[: len(args) - self.above]
        gradients = [a.dtype for a in Tree(inputs).differentiable] if self.above else []
        written = [t.dtype for t in self.contract.written(args).values()]
        return (*self.reference.dtypes(inputs), *gradients, *written)

    def widened(self, args: Args) -> Args:
        """As `Reference.widened`."""
        assert self.reference is not None
        return self.reference.widened(args)

    def unwritten(self, args: Args) -> Args | None:
        """As `Reference.unwritten`."""
        assert self.reference is not None
        return self.reference.unwritten(args, self.above)

    def floors(self, args: Args, bonus: bool = False, estimate: Floors | None = None) -> Floors:
        """Beside what is derived: nowhere stricter than the reference itself is in the dtype of ``args``; and wider for
        a gradient, which other formulas reach with other cancellation; and where matrices are multiplied in half
        precision, as wide as where every step is rounded to it, which is how tensor cores get their factors, or where
        it is added at indices, as atomics add it; and by
        what the result moves where a number among the arguments, such as a beta of 0.999, comes as float32, as it comes
        to a kernel. Not judged is what mathematics leaves open: NaN that the reference makes of numbers without one,
        gradients that are not finite and those of arguments that are not; with an infinite argument all results that
        are not finite; what the dtype cannot hold; where the reference itself overflows, or NaN reaches its own result
        in another way than in float64, as through the padding of a convolution; and an infinite result that is NaN if
        every step is rounded.
        """
        assert self.reference is not None
        estimated, native = super().floors(args, bonus, estimate), self.reference.native(args, self.above)
        half = next((result.dtype for result in native if result.dtype in HALVES), None)
        inside = half and self.reference.rounds_within
        rounded = self.reference.rounded(args, self.above, half) if half and inside else native
        exact = self.exact(args)
        moved = self._moved_by_numbers(args, exact)
        gradients = len(Tree(args).differentiable) - self.above if self.above else 0
        inputs = [*map(comparable, parts(args))]
        nan, infinite = (any(bool(kind(a).any()) for a in inputs) for kind in (torch.isnan, torch.isinf))
        nan = nan or not inputs  # of integers alone, NaN is what the reference says a code means
        floors: list[torch.Tensor | float] = []
        for number, (floor, value, result, coarse) in enumerate(zip(estimated, exact, native, rounded, strict=True)):
            if not value.is_floating_point():
                floors.append(
                    torch.maximum(torch.as_tensor(floor, dtype=torch.float64), _error(value.double(), result))
                )
                continue
            gradient, dtype = number >= len(exact) - gradients, result.dtype
            wide = torch.as_tensor(floor, dtype=torch.float64).expand(value.shape)
            wide = torch.maximum(_of_gradient(wide) if gradient else wide, _reached(value, result)) + moved[number]
            if dtype != torch.float32 and (gradient or self.reference.rounds_within):
                wide = torch.maximum(wide, 4 * _of_rows(torch.maximum(_error(value, result), _error(value, coarse))))
            stored, result = value.to(dtype).double(), result.double()
            unknown = ~stored.isfinite() & (value.isfinite() | (gradient or infinite)) | (value.isnan() & (not nan))
            unknown = unknown | (gradient and (nan or infinite)) | (nan & (result.isnan() != value.isnan()))
            unknown = unknown | (~result.isfinite() & (stored.isfinite() | (result.isnan() & ~stored.isnan())))
            saturates = dtype in FLOAT8  # where others give infinity
            unknown = unknown | (stored.isinf() & (coarse.isnan() | saturates))
            floors.append(wide.masked_fill(unknown, torch.inf))
        return tuple(floors)

    def _moved_by_numbers(self, args: Args, exact: Args) -> tuple[torch.Tensor | float, ...]:
        """Returns how far each result moves where the numbers among arguments and attributes are rounded to float32."""
        assert self.reference is not None
        rounded = tuple(as_float32(a) if type(a) is float else a for a in args)
        with self.reference.numbers_in_float32() as changed:
            if not changed and all(a == b for a, b in zip(args, rounded, strict=True) if type(a) is float):
                return (0.0,) * len(exact)
            return tuple(map(_error, exact, self.exact(rounded)))


def _error(exact: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    return (result.double() - exact).abs().nan_to_num(0, 0, 0)


def _of_rows(floor: torch.Tensor) -> torch.Tensor:
    """The floor, and nowhere less than the root mean square of its row: what went into all of its sums."""
    if not floor.dim() or not floor.numel():
        return floor
    return torch.maximum(floor, floor.square().mean(-1, keepdim=True).sqrt())


def _of_gradient(floor: torch.Tensor) -> torch.Tensor:
    """The floor of a gradient: `GRADIENT` times as much, and the errors of its whole row, which another formula adds up
    into one element, as the gradient of a maximum does that was subtracted.
    """
    count = floor.shape[-1] if floor.dim() else 1
    return GRADIENT * _of_rows(floor) * max(1.0, math.sqrt(count) / GRADIENT)


def _reached(exact: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """Returns how far off a result may be because the reference's own is: where that is twice as much, and in half
    precision everywhere four times the median in ulp, which is one ulp where it rounds once.
    """
    error = _error(exact, result)
    if result.dtype == torch.float32 or not exact.numel():
        return 2 * error
    size = ulp_size(exact, result.dtype)
    return torch.maximum(2 * error, 4 * (error / size).median() * size).nan_to_num(0, 0, 0)


def record_of(reference: Reference, families: list[Family], gradients: bool, name: str) -> Compared:
    """The record. gradients: whether the candidate's are compared, too."""
    above = reference.floating if gradients else 0
    names = reference.names + tuple(f"upstream_{i}" if above > 1 else "upstream" for i in range(above))
    outputs = reference.outputs
    if gradients:
        outputs += tuple(f"d{name}" for name in _floating_names(reference))

    def oracle(*args: Any) -> Args:
        inputs, upstream = args[: len(args) - above], args[len(args) - above :]
        return reference.exact_with_gradients(inputs, upstream) if gradients else reference.exact(inputs)

    oracle = signed(oracle, names)
    return Compared(
        name=name,
        summary=name,
        oracle=oracle,
        outputs=tuple(Output(output) for output in outputs),
        cases=tuple(_case(reference, family, gradients) for family in families),
        hint="",
        tolerance=derived(oracle, casts=True),
        backends=("triton",),
        writes=reference.writes,
        reference=reference,
        above=above,
    )


def called_with(reference: Reference, family: Family, generator: torch.Generator, gradients: bool) -> Args:
    """Returns what a family calls the candidate with: its inputs, a module's parameters, upstream gradients. Raises
    CompareError as `drawn` does.
    """
    arguments = drawn(reference, family, generator)
    args = reference.with_parameters(arguments, generator if family.parameters else None)
    return args + family.upstream(reference.upstream(args, generator)) if gradients else args


def drawn(reference: Reference, family: Family, generator: torch.Generator) -> Args:
    """The inputs of a family, drawn until the reference takes them. Raises CompareError where it takes them by luck."""
    for _ in range(DRAWS):
        try:
            args = family.draw(generator)
        except Exception as error:
            why = f"cannot be drawn ({type(error).__name__}: {error})"
            raise CompareError(f"the family {family.name!r} {why}: {_way_out(family)}") from None
        if reference.accepts(args) and not reference.repeats(args):
            return args
    raise CompareError(
        f"the reference takes what the family {family.name!r} draws at random, and then it refuses it {DRAWS} times: "
        f"{_way_out(family)}"
    )


def _way_out(family: Family) -> str:
    return f"leave it out (without=({family.name!r},), --without), or give arguments as a function of a seed"


def _case(reference: Reference, family: Family, gradients: bool) -> Case:
    return Case(
        family.name,
        lambda generator: called_with(reference, family, generator, gradients),
        family.what,
        category=CATEGORY_OF[family.kind],
        twice=family.twice,
    )


def _floating_names(reference: Reference) -> list[str]:
    named = Tree(reference.arguments).named(reference.names)
    return [name for name, a in named.items() if Tree.has_gradient(a)]
