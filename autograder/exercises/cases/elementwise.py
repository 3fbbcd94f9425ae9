"""The inputs that show bugs: every value of a half format, the edges of float32, shapes, strides, and honest gradients.

Each function returns cases ready for a record. An upstream gradient is never ones: it is random, signed, and holds
exact zeros.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Generator, Tensor

from ...judge import HALVES, Case, Values, draw
from ...runner import Args, dtype_name
from .signature import MakeArguments, as_they_are
from .wording import A_REST, AGAIN, BEYOND, BEYOND_HINT, KEEP_NOTHING, NAN_IN, ONE_BLOCK, STEP_BY_STEP

ELEMENTWISE = "elementwise"
WORKING_RANGE = 65504.0  # of float32 code in half precision: all of float16

TINY = (0.0, -0.0, 1e-45, -1e-45, 1e-40, -1e-40, 1.2e-38, 1e-20, -1e-20, 1e-8, -1e-8, 1e-4, -1e-4, 0.5)
LARGE = (
    -1e4,
    -300.0,
    -104.0,
    -100.0,
    -89.0,
    -88.0,
    -87.0,
    -17.0,
    17.0,
    20.0,
    88.0,
    89.0,
    104.0,
    258.0,
    260.0,
    300.0,
    2052.0,
    4095.9998,
    8191.9995,
    1e4,
)


def normal(
    generator: Generator, shape: Iterable[int], dtype: torch.dtype = torch.float32, scale: float = 1.0
) -> Tensor:
    """Normal values of the given standard deviation, rounded to ``dtype``."""
    return (torch.randn(tuple(shape), generator=generator) * scale).to(dtype)


def gradient(generator: Generator, shape: Iterable[int], dtype: torch.dtype = torch.float32) -> Tensor:
    """An upstream gradient: random, signed, one element in seven exactly zero, and never a power of two."""
    return draw.gradient(*shape).to(dtype).drawn(generator)


def off_zero(x: Tensor) -> Tensor:
    """x without numbers below 0.05: those near 0 have cases of their own, and no seed brings them into another."""
    return x + torch.copysign(torch.tensor(0.05), x.float()).to(x.dtype)


def spread(generator: Generator) -> Tensor:
    """float32 values whose exponents cover the whole format evenly, both signs."""
    bits = torch.randint(0, 2**32, (4099,), generator=generator, dtype=torch.int64)
    values = (bits - 2**31).to(torch.int32).view(torch.float32)
    return values.masked_fill(~values.isfinite(), 1.0)


BatchMaker = Callable[
    [Generator, tuple[str, ...], str], Args
]  # (generator, parameters, the swept one) -> the arguments


def along(values: Values, others: Callable[..., Values] = draw.gradient) -> BatchMaker:
    """The swept parameter runs through these values, the others are gradients of its shape and dtype."""

    def batch(generator: Generator, parameters: tuple[str, ...], swept: str) -> Args:
        x = values.drawn(generator)
        return tuple(x if p == swept else others(*x.shape).to(x.dtype).drawn(generator) for p in parameters)

    return batch


def listed(*values: float) -> BatchMaker:
    """Returns a batch of these float32 values."""
    return along(draw.tensor(values), draw.without_zeros)


def alone(*shape: int) -> BatchMaker:
    """One element, where no function of the course is flat: which number it is decides nothing."""
    return along(draw.full(*shape, value=-1.7), lambda *sizes: draw.uniform(*sizes).plus(1.0))


def shaped(*shape: int, dtype: torch.dtype = torch.float32, layout: Values = draw.same) -> BatchMaker:
    """Random tensors of this shape, each laid out by ``layout``."""

    def batch(generator: Generator, parameters: tuple[str, ...], swept: str) -> Args:
        drawn = (
            off_zero(normal(generator, shape, dtype, 3.0)) if p == swept else gradient(generator, shape, dtype)
            for p in parameters
        )
        return tuple(layout.of(tensor) for tensor in drawn)

    return batch


def first_as(layout: Values) -> BatchMaker:
    """The first parameter lies in memory as ``layout`` has it, the others are contiguous."""

    def batch(generator: Generator, parameters: tuple[str, ...], swept: str) -> Args:
        first, *rest = shaped(37, 53)(generator, parameters, swept)
        return layout.of(first), *rest

    return batch


def tiny(generator: Generator, parameters: tuple[str, ...], swept: str) -> Args:
    """All but the swept parameter are about 1e-8."""
    drawn = shaped(4096)(generator, parameters, swept)
    return tuple(tensor if p == swept else tensor * 1e-8 for p, tensor in zip(parameters, drawn, strict=True))


def with_nan(parameter: str) -> BatchMaker:
    """One element of ``parameter`` is NaN, and nothing else."""

    def batch(generator: Generator, parameters: tuple[str, ...], swept: str) -> Args:
        drawn = dict(zip(parameters, shaped(500)(generator, parameters, swept), strict=True))
        drawn[parameter][300] = torch.nan
        return tuple(drawn.values())

    return batch


CaseMaker = Callable[..., Case]  # of a name, a batch, a hint, and fields of the case


def values(case: CaseMaker) -> tuple[Case, ...]:
    """Returns which numbers: ordinary ones, in whole blocks and with a rest, then zeros, small and large."""
    return (
        case(
            "ordinary values", shaped(4096), "Begin here: 4096 random float32 values. " + STEP_BY_STEP, subject="plain"
        ),
        case(AGAIN, shaped(4096), KEEP_NOTHING, subject="again"),
        case("one block", shaped(1024), ONE_BLOCK, subject="sizes"),
        case("three blocks and a rest", shaped(3109), A_REST, subject="sizes"),
        case(
            "exact zeros",
            listed(0.0, -0.0, 1.0, 0.0, -1.0, 0.0, 0.0),
            "Some elements are 0 or -0, the others ±1. Work out by hand what each step of your formula gives at 0.",
            subject="range",
        ),
        case(
            "tiny values",
            listed(*TINY),
            "Numbers down to 1e-45. None of them is 0 but the first two, and no added constant is small against them.",
            subject="range",
        ),
        case(
            "large values",
            listed(*LARGE),
            "Numbers up to 1e4. Does an exponential overflow (e^x does from 88.7 on)? Is a 1 lost in a large number?",
            subject="range",
        ),
    )


EMPTY = "An empty tensor: return an empty tensor, and launch no program."


def layouts(case: CaseMaker) -> tuple[Case, ...]:
    """Returns which shapes, and how the tensors lie in memory."""
    return (
        case(
            "one element",
            alone(1),
            "One element: in a kernel, one lane of a block; the others are masked off.",
            subject="single",
        ),
        case("no dimensions", alone(), "x.shape may be (): count elements with numel().", subject="single"),
        case("no elements", shaped(0), f"{EMPTY} x.shape is (0,).", subject="empty"),
        case(
            "odd shape, several blocks",
            shaped(5, 29, 113),
            "16,385 elements in three dimensions: in a kernel several blocks, the last of them with one element.",
            subject="sizes",
        ),
        case("no rows", shaped(0, 3), f"{EMPTY} x.shape is (0, 3).", subject="empty"),
        case(
            "transposed",
            shaped(113, 145, layout=draw.same.transposed()),
            "16,385 elements, several blocks, and transposed: a row is not contiguous.",
            subject="layout",
        ),
        case(
            "every second column",
            shaped(11, 101, dtype=torch.float16, layout=draw.same.every_second()),
            "float16, at a stride of 2: compute in float32, and read each element where its strides say it is.",
            subject="layout",
        ),
        case(
            "rows with gaps",
            shaped(9, 127, layout=draw.same.with_gaps()),
            "Rows of 127, 160 apart in memory: the next row does not begin where this one ends.",
            subject="layout",
        ),
        case(BEYOND, shaped(3, 70, dtype=torch.float16, layout=draw.same.far_apart()), BEYOND_HINT, subject="layout"),
    )


def first_alone(case: CaseMaker, first: str) -> tuple[Case, ...]:
    """The first parameter lies otherwise than the others."""
    return (
        case(
            f"{first} of stride 0",
            first_as(draw.same.one_number()),
            f"What .sum() hands back: one number for the whole shape. {first}.stride() is (0, 0).",
            subject="layout",
        ),
        case(
            f"{first} transposed",
            first_as(draw.same.transposed()),
            f"{first} is transposed, and nothing else is: each tensor has strides of its own.",
            subject="layout",
        ),
        case(
            f"{first} with gaps",
            first_as(draw.same.with_gaps()),
            f"The rows of {first} are 86 apart, those of nothing else: each tensor has its own strides.",
            subject="layout",
        ),
    )


NOT_FINITE = listed(float("inf"), -float("inf"), float("nan"), 1.0, -1.0)


def elementwise(
    parameters: tuple[str, ...], swept: str, tail: Callable[[], Tensor], *, arguments: MakeArguments = as_they_are
) -> tuple[Case, ...]:
    """The cases of an elementwise function.

    parameters: those that are tensors. swept: the one that runs through the special values; the others are random
    there. tail: float32 values where honest float32 code loses everything and careful code loses nothing (a
    distinction).
    arguments: (generator, *tensors) -> the exercise's arguments, where it takes more than these tensors:
    ``lambda generator, x: (x, 30.0)``.
    """

    def case(name: str, batch: BatchMaker, hint: str, **more: Any) -> Case:
        def inputs(generator: Generator) -> Args:
            return arguments(generator, *batch(generator, parameters, swept))

        return Case(name, inputs, hint, family=ELEMENTWISE, **more)

    def every(dtype: torch.dtype) -> Case:
        about = f"All values of {dtype_name(dtype)}, NaN and infinity among them; the one shown is the worst."
        hint = f"{about} If that is a number: was every step computed in float32, and rounded once at the end?"
        name, sweep = f"every {dtype_name(dtype)} value", along(draw.every_value(dtype))
        return case(name, sweep, hint, subject="half precision", within=WORKING_RANGE, swept=swept)

    others = " and ".join(p for p in parameters if p != swept)
    small = (
        f"{others} of about 1e-8, as gradients are late in training: what comes out is as small, with as many digits. "
        "Is anything compared with a constant?"
    )
    infinite = "NaN in gives NaN out; at an infinity the limit, or PyTorch's own answer."
    whole, ends = along(draw.by(spread)), along(draw.by(lambda: tail()))
    far, last = "Every exponent of float32, up to 3e38.", "So small that PyTorch has no correct digit left."
    extra: dict[str, Any] = {"subject": "range", "bonus": True, "swept": swept}
    return (
        *values(case),
        *(every(dtype) for dtype in HALVES),
        *layouts(case),
        *(first_alone(case, parameters[0]) if others else ()),
        *([case(f"tiny {others}", tiny, small, subject="range")] if others else []),
        case("infinity and NaN", NOT_FINITE, infinite, subject="NaN and infinity", convention="infinity"),
        *(
            case(
                f"NaN in {p}",
                with_nan(p),
                NAN_IN.format(p),
                subject="NaN and infinity",
            )
            for p in parameters
            if p != swept
        ),
        case("distinction: no columns", shaped(3, 0), f"{EMPTY} x.shape is (3, 0).", subject="empty", bonus=True),
        case("distinction: the whole range", whole, far, **extra),
        case("distinction: the tail", ends, last, **extra),
    )
