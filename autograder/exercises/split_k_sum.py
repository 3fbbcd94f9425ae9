"""A sum in parts that are chosen by the length of a row. Case: the parts of a decode kernel, tokenspeed#904."""

from dataclasses import replace

from ..judge import COMBINING, Exercise, Output, Tolerance, Values, case, draw
from .cases.floats import rows
from .cases.rounding import EPS
from .cases.wording import LONG_ROW, LONG_ROW_HINT, LONGEST, STEP_BY_STEP

ALONE = (
    "How many parts a row has, and how each part is summed: does anything of it follow the number of rows? (In Triton, "
    "a block of several rows that is summed along its columns is fine as long as its columns follow K alone.)"
)


def normal(m: int, k: int) -> Values:
    """Normal numbers."""
    return draw.normal(m, k).scale(3.0)


_, *OTHERS = rows()

split_k_sum = Exercise(
    name="split_k_sum",
    summary="the sum of every row of x (M, K), in parts chosen by K alone; the bits of a row follow that row alone",
    oracle=lambda x: x.sum(-1),
    outputs=(Output("sums"),),
    cases=(
        case(
            "ordinary values",
            "Begin here: 37 rows of 100, one part or a few. " + STEP_BY_STEP,
            x=normal(37, 100),
        ),
        *OTHERS,
        replace(case(LONG_ROW, LONG_ROW_HINT, x=normal(1, LONGEST + 1)), shared=True),
        case("each row alone", ALONE, x=normal(300, 2100), each_row_alone=True),
    ),
    tolerance=Tolerance(
        1,
        8,
        "Every addition in float32 rounds by half an ulp of what is summed so far: a few ulp of the sum of |x|.",
        lambda x: (8 * EPS * x.nan_to_num(posinf=0, neginf=0).abs().sum(-1),),
    ),
    hint="A tree of additions whose shape follows K alone: halves in PyTorch, parts of a fixed length in Triton.",
    points=4,
    refused=COMBINING,
    about=("each row alone",),
)
