"""RMS norm for a batch of one and for many. Case: vLLM's block of 1024 threads or 256, vllm-project/vllm#48271."""

from dataclasses import replace

import torch

from ..judge import Arguments, Exercise, Floors, Output, Tolerance, case, draw
from .cases.rounding import EPS, floors, leaning_walk
from .cases.rows import row_mean, weights
from .cases.wording import (
    AGAIN,
    BEYOND,
    BEYOND_HINT,
    CONVERT,
    KEEP_NOTHING,
    LONG_ROW,
    LONG_ROW_HINT,
    LONGEST,
    STEP_BY_STEP,
)

ALONE = (
    "Among 256 rows or more vLLM summed the squares with 256 threads instead of 1024. Does the block, or the number of "
    "parts of a row, follow M in yours?"
)
MASK = "Is every mean a sum divided by N? What do the masked-off lanes add to it?"


def norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """y in the dtype of x."""
    return x * (row_mean(x * x) + eps) ** -0.5 * weight


def given(m: int, n: int, scale: float = 100.0, dtype: torch.dtype = torch.float32) -> Arguments:
    """Rows of normal numbers, and a weight for each column."""
    return Arguments.named(x=draw.normal(m, n).scale(scale).to(dtype), weight=draw.by(weights))


def floor(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> Floors:
    """Half of what a sum of squares loses, in order."""
    return floors(EPS * leaning_walk(x.shape[-1]) / 2 * norm(x, weight, eps).abs())


norm_of_rows = Exercise(
    name="norm_of_rows",
    summary="y = x / √(mean(x²) + eps) · weight for each row of x (M, N), the same bits whatever rows are beside it",
    oracle=norm,
    outputs=(Output("y"),),
    cases=(
        case("ordinary values", "Begin here: 7 rows of 128 random float32 values. " + STEP_BY_STEP, given(7, 128)),
        case(AGAIN, KEEP_NOTHING, given(7, 128)),
        case("each row alone", ALONE, given(300, 1100), each_row_alone=True),
        case("3 columns", f"Rows of 3. {MASK}", given(5, 3)),
        case("17 columns", f"Rows of 17. {MASK}", given(9, 17)),
        replace(case(LONG_ROW, LONG_ROW_HINT, given(1, LONGEST + 1)), shared=True),
        replace(
            case("a long row, eps = 0.1", "eps counts in rows of any length.", given(1, LONGEST + 1, 0.3), eps=0.1),
            shared=True,
        ),
        case(
            "mean square far below eps",
            "The mean square is 1e-8, and eps is 1e-6. Does it stand under the root?",
            given(6, 90, 1e-4),
        ),
        case("another eps", "eps is an argument: 0.01, and it counts.", given(6, 90, 0.1), eps=0.01),
        case("rows of zeros", "A row of zeros is 0, not 0 / 0.", given(4, 60), x=draw.full(4, 60, value=0.0)),
        case("one column", "N is 1.", given(30, 1)),
        case("no rows", "Nothing to do, and nothing to launch.", given(0, 40)),
        case(
            "transposed", "x is transposed: a row is not contiguous in memory.", given(37, 53), x=draw.same.transposed()
        ),
        case("rows with gaps", "Rows of 127, 160 apart in memory.", given(9, 127), x=draw.same.with_gaps()),
        case(BEYOND, BEYOND_HINT, given(3, 70, 30.0, torch.float16), x=draw.same.far_apart()),
        case("float16", f"Squares of 300 are infinite in float16. {CONVERT}", given(9, 400, 300.0, torch.float16)),
        case("bfloat16", CONVERT, given(9, 400, 30.0, torch.bfloat16)),
        case(
            "NaN",
            "A NaN of x makes its own row NaN, one of weight its own column, and no other.",
            given(6, 50),
            x=draw.same.put(float("nan"), 2, 17),
            weight=draw.same.put(float("nan"), 31),
        ),
    ),
    tolerance=Tolerance(
        1,
        8,
        "One rounding at the end costs half an ulp. Nothing cancels: a few ulp of float32, and half of what the sum of "
        "squares lost, which in any order is √N + N / 32 ulp.",
        floor,
    ),
    hint="The mean of the squares of each row, in float32, in parts that follow N alone.",
    backends=("triton",),
    points=4,
    about=("each row alone",),
)
