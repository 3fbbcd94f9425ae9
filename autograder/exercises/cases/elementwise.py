"""The inputs that show bugs: every value of a half format, the edges of float32, shapes, strides, and honest gradients.

Each function returns cases ready for a record. An upstream gradient is never ones: it is random, signed, and holds
exact zeros.
"""

from collections.abc import Callable, Iterable

import torch

from ...run.apart import far_apart
from ...run.dtypes import dtype_name
from ..record import Case
from .common import AGAIN, HALVES, KEEP_NOTHING

WORKING_RANGE = 1e4

TINY = (0.0, -0.0, 1e-45, -1e-45, 1e-40, -1e-40, 1.2e-38, 1e-20, -1e-20, 1e-8, -1e-8, 1e-4, -1e-4, 0.5)
BEYOND = "offsets beyond 2^31"
BEYOND_HINT = (
    "The rows lie 2^30 elements apart in memory. For the third, row * stride is 2^31, more than an int32 holds: in a "
    "kernel make the row an int64 first, as in `tl.program_id(0).to(tl.int64)`."
)
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


def normal(generator: torch.Generator, shape: Iterable[int], dtype=torch.float32, scale: float = 1.0) -> torch.Tensor:
    """Normal values of the given standard deviation, rounded to ``dtype``."""
    return (torch.randn(tuple(shape), generator=generator) * scale).to(dtype)


def gradient(generator: torch.Generator, shape: Iterable[int], dtype=torch.float32) -> torch.Tensor:
    """An upstream gradient: random, signed, one element in seven exactly zero, and never a power of two."""
    dy = normal(generator, shape, dtype)
    return dy.masked_fill(torch.rand(dy.shape, generator=generator) < 1 / 7, 0.0)


def every_value(dtype: torch.dtype) -> torch.Tensor:
    """All 65,536 values of a 16-bit format: zeros, subnormals, infinities and NaNs with every payload among them."""
    return torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(dtype)


def spread(generator: torch.Generator, count: int = 4099) -> torch.Tensor:
    """float32 values whose exponents cover the whole format evenly, both signs."""
    bits = torch.randint(0, 2**32, (count,), generator=generator, dtype=torch.int64)
    values = (bits - 2**31).to(torch.int32).view(torch.float32)
    return values.masked_fill(~values.isfinite(), 1.0)


def elementwise(parameters: tuple[str, ...], swept: str, tail: Callable[[], torch.Tensor]) -> tuple[Case, ...]:
    """The cases of an elementwise function.

    swept: the parameter that runs through the special values; the others are random there.
    tail: float32 values where honest float32 code loses everything and careful code loses nothing (a distinction).
    """

    def along(values: Callable[[torch.Generator], torch.Tensor]) -> Callable[[torch.Generator], tuple]:
        def inputs(generator):
            x = values(generator)
            return tuple(x if p == swept else gradient(generator, x.shape, x.dtype) for p in parameters)

        return inputs

    def shaped(shape, dtype=torch.float32, view=lambda t: t) -> Callable[[torch.Generator], tuple]:
        def inputs(generator):
            def one(p):
                return normal(generator, shape, dtype, 3.0) if p == swept else gradient(generator, shape, dtype)

            return tuple(view(one(p)) for p in parameters)

        return inputs

    def far() -> Callable[[torch.Generator], tuple]:
        def inputs(generator):
            x = far_apart(normal(generator, (3, 70), torch.float16, 3.0))
            return tuple(x if p == swept else gradient(generator, x.shape, x.dtype) for p in parameters)

        return inputs

    def listed(*values: float) -> Callable[[torch.Generator], tuple]:
        return along(lambda generator: torch.tensor(values))

    zeros = listed(0.0, -0.0, 1.0, 0.0, -1.0, 0.0, 0.0)
    cases = [
        Case(
            "ordinary values",
            shaped((1000,)),
            "Begin here: random float32 values, 1000 of them. Compare with the formula.",
        ),
        Case(AGAIN, shaped((1000,)), KEEP_NOTHING),
        Case(
            "exact zeros",
            zeros,
            f"{swept} is 0 or -0 here, or ±1. Work out by hand what each step of your formula gives at 0.",
        ),
        Case(
            "tiny values",
            listed(*TINY),
            f"{swept} goes down to 1e-45. Such a number is not 0, and an added constant is not small compared with it.",
        ),
        Case(
            "large values",
            listed(*LARGE),
            f"{swept} goes up to 1e4 on both sides. Does an exponential overflow (e^x does from 88.7 on)? Is a "
            "1 lost in a "
            "large number that it is added to?",
        ),
    ]
    for dtype in HALVES:
        name = dtype_name(dtype)
        cases.append(
            Case(
                f"every {name} value",
                along(lambda generator, dtype=dtype: every_value(dtype)),
                f"All 65,536 values of {name}, NaN and infinity among them; the one shown is the worst. Was every step "
                "computed in float32, and rounded once at the end?",
                within=WORKING_RANGE,
                swept=swept,
            )
        )
    cases += [
        Case("one element", shaped((1,)), "One element: in a kernel, one lane of a block; the others are masked off."),
        Case("no dimensions", shaped(()), "x.shape may be (): count elements with numel()."),
        Case(
            "no elements",
            shaped((0, 3)),
            "An empty tensor: return an empty tensor, and launch no program.",
        ),
        Case(
            "odd shape, several blocks",
            shaped((5, 7, 331)),
            "11,585 elements in three dimensions: in a kernel several blocks, the last of them not full.",
        ),
        Case(
            "transposed",
            shaped((37, 53), view=lambda t: t.t()),
            "1,961 elements, more than a block of 1024, and transposed: neighbours in a row are not neighbours in "
            "memory.",
        ),
        Case(
            "every second column",
            shaped((11, 202), torch.float16, lambda t: t[:, ::2]),
            "float16, at a stride of 2: compute in float32, and read each element where its strides say it is.",
        ),
    ]
    cases.append(Case(BEYOND, far(), BEYOND_HINT))
    if len(parameters) > 1:
        cases.append(
            Case(
                f"{parameters[0]} of stride 0",
                _expanded(parameters, swept),
                f"What .sum() hands back: one number for the whole shape. {parameters[0]}.stride() is (0, 0).",
            )
        )
    others = listed(float("inf"), -float("inf"), float("nan"), 1.0, -1.0)
    cases.append(
        Case(
            "infinity and NaN",
            others,
            "NaN in gives NaN out; at an infinity the limit, or PyTorch's own answer.",
            convention="infinity",
        )
    )
    cases += [
        Case(
            "distinction: the whole range",
            along(spread),
            "Every exponent of float32, up to 3e38: what overflows, or vanishes, on the way?",
            bonus=True,
            swept=swept,
        ),
        Case(
            "distinction: the tail",
            along(lambda generator: tail()),
            "So far out that PyTorch's own result has no correct digits left. Here the result must be right in ulp.",
            bonus=True,
            swept=swept,
        ),
    ]
    return tuple(cases)


def _expanded(parameters: tuple[str, ...], swept: str) -> Callable[[torch.Generator], tuple]:
    def inputs(generator):
        first, *rest = (normal(generator, (29, 67), scale=3.0) for _ in parameters)
        return (torch.tensor(-0.7).expand(29, 67), *rest)

    return inputs
