"""A matrix product: programs share out a grid of tiles. What `linear_cross_entropy_forward_backward` is made of."""

import torch
from torch import Tensor

from ..judge import Arguments, Exercise, Output, Tolerance, Values, case, draw
from .cases.halves import in_halves
from .cases.rounding import EPS, floors
from .cases.wording import AGAIN, BEYOND, BEYOND_HINT, KEEP_NOTHING, STEP_BY_STEP

CONVERT = "Accumulate in float32, whatever comes in, and round once, at the store."
STRIDES = "Neither matrix has to be contiguous: hand its strides to the kernel, and multiply the offsets by them."


def factors(m: int, k: int, n: int) -> Arguments:
    """Matrices of normal numbers."""
    return Arguments.named(a=draw.normal(m, k), b=draw.normal(k, n))


def positive(m: int, n: int) -> Values:
    """Positive numbers: what is not finite meets no 0 and no other sign, and a row or a column says where it comes
    from.
    """
    return draw.normal(m, n).map(lambda x: x.abs() + 0.1)


def columns_of_more(a: Tensor) -> Tensor:
    """Columns of a wider matrix, NaN around them."""
    return torch.nn.functional.pad(a, (5, 36), value=torch.nan)[:, 5:-36]


def rows_of_more(b: Tensor) -> Tensor:
    """Rows of a higher matrix, infinity around them."""
    return torch.nn.functional.pad(b, (0, 0, 5, 36), value=torch.inf)[5:-36]


CASES = (
    case(
        "ordinary values",
        "Begin here: the product of a (128, 64) and a (64, 128) matrix. Tiles of up to 64 rows and columns are full. "
        + STEP_BY_STEP,
        factors(128, 64, 128),
    ),
    case(AGAIN, KEEP_NOTHING, factors(128, 64, 128)),
    case("less than a tile", "One tile, which sticks out on every side.", factors(37, 24, 29)),
    case(
        "several tiles", "Tiles that stick out on every side, and an inner loop that does too.", factors(130, 75, 141)
    ),
    case("a row times a matrix", "M is 1: one row of the tile exists.", factors(1, 50, 70)),
    case("a matrix times a column", "N is 1: one column of the tile exists.", factors(70, 50, 1)),
    case("K is 1", "One product for each element; the rest of the inner block is masked off.", factors(33, 1, 18)),
    case("K is 0", "The sum of nothing is 0, and your kernel has to write it.", factors(5, 0, 7)),
    case("no rows", "M is 0: an empty result, and nothing to launch.", factors(0, 6, 7)),
    case("no columns", "N is 0: an empty result, and nothing to launch.", factors(5, 6, 0)),
    case("a transposed", STRIDES, factors(35, 45, 20), a=draw.same.transposed()),
    case("b transposed", STRIDES, factors(35, 45, 20), b=draw.same.transposed()),
    case("both transposed", STRIDES, factors(35, 45, 20), a=draw.same.transposed(), b=draw.same.transposed()),
    case(
        "every second column",
        STRIDES,
        a=draw.normal(20, 60).view(lambda a: a[:, ::2]),
        b=draw.normal(30, 50).view(lambda b: b[:, ::2]),
    ),
    case("b of stride 0", STRIDES, a=draw.normal(9, 30), b=draw.normal(30, 1).view(lambda b: b.expand(30, 21))),
    case(
        "inside larger tensors",
        "Past K lie NaN and infinity, and NaN · 0 is NaN: mask both loads.",
        a=draw.normal(9, 23).view(columns_of_more),
        b=draw.normal(23, 11).view(rows_of_more),
    ),
    case(BEYOND, BEYOND_HINT, factors(3, 40, 20), a=draw.same.far_apart()),
    case(
        f"{BEYOND}, in b",
        "The rows of b lie 2^30 elements apart: in a kernel make the index along K an int64 before you "
        "multiply it by the stride.",
        factors(20, 3, 40),
        b=draw.same.far_apart(),
    ),
    *in_halves("{}", CONVERT, factors(40, 70, 33), "a", "b"),
    case(
        "20,000 ones",
        f"A sum of ones in bfloat16 stops growing at 256. {CONVERT}",
        a=draw.full(3, 20_000, value=1.0).to(torch.bfloat16),
        b=draw.full(20_000, 5, value=1.0).to(torch.bfloat16),
    ),
    case(
        "beyond float16 on the way",
        "The products fit into float16, the partial sums do not.",
        a=draw.normal(4, 600).plus(20.0).to(torch.float16),
        b=draw.tensor([[20.0] * 6] * 300 + [[-20.0] * 6] * 300, torch.float16),
    ),
    case(
        "infinity and NaN",
        "NaN and infinity must reach the sums they belong to and no others: are masked-off elements 0?",
        a=positive(20, 40).put(torch.nan, 3, 7).put(torch.inf, 5, 39),
        b=positive(40, 30).put(torch.nan, 0, 11).put(-torch.inf, 39, 29),
    ),
)

matmul = Exercise(
    name="matmul",
    summary="the matrix product a @ b, accumulated in float32",
    oracle=lambda a, b: a @ b,
    outputs=(Output("c", "a"),),
    cases=CASES,
    tolerance=Tolerance(
        1,
        8,
        "An element is a float32 sum of K products: a few ulp of the sum of |a| · |b|, then one rounding at the end.",
        lambda a, b: floors(8 * EPS * (a.nan_to_num(0, 0, 0).abs() @ b.nan_to_num(0, 0, 0).abs())),
    ),
    hint="One program a tile of c: walk along K, tl.dot a tile of a with a tile of b, and add up in float32.",
    backends=("triton",),
    points=5,
    peer=lambda a, b: (a.float() @ b.float()).to(a.dtype),
    about=("20,000 ones", "beyond float16 on the way"),
)
