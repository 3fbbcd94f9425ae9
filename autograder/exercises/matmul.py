"""A matrix product: programs share out a grid of tiles. What `linear_cross_entropy_forward_backward` is made of."""

import torch
from torch import Generator, Tensor

from ..judge import (
    AGAIN,
    BEYOND,
    BEYOND_HINT,
    EPS,
    KEEP_NOTHING,
    STEP_BY_STEP,
    Case,
    Exercise,
    Inputs,
    Output,
    Tolerance,
    View,
    floors,
    normal,
)
from ..runner import Args, far_apart

CONVERT = "Accumulate in float32, whatever comes in, and round once, at the store."
STRIDES = "Neither matrix has to be contiguous: hand its strides to the kernel, and multiply the offsets by them."


def product(
    m: int,
    k: int,
    n: int,
    dtype: torch.dtype = torch.float32,
    a: View = lambda x: x,
    b: View = lambda x: x,
) -> Inputs:
    """Factors of normal numbers. a, b: make views of the matrices; m, k and n are what comes out of that."""
    return lambda generator: (a(normal(generator, (m, k), dtype)), b(normal(generator, (k, n), dtype)))


def transposed(m: int, k: int, n: int, which: str) -> Inputs:
    """a or b (or "ab", both) as the transpose of what lies in memory."""

    def inputs(generator: Generator) -> Args:
        a, b = normal(generator, (m, k)), normal(generator, (k, n))
        return tuple(x.t().contiguous().t() if name in which else x for name, x in (("a", a), ("b", b)))

    return inputs


def ones(generator: Generator) -> tuple[Tensor, Tensor]:
    """Returns matrices of ones in bfloat16, (3, 20,000) and (20,000, 5): a sum of bfloat16 stops growing at 256."""
    return torch.ones(3, 20_000, dtype=torch.bfloat16), torch.ones(20_000, 5, dtype=torch.bfloat16)


def up_and_down(generator: Generator) -> tuple[Tensor, Tensor]:
    """float16 products that are small, and whose partial sums pass 65,504 on the way."""
    a = 20.0 + normal(generator, (4, 600))
    b = torch.cat([torch.full((300, 6), 20.0), torch.full((300, 6), -20.0)])
    return a.half(), b.half()


def not_finite(generator: Generator) -> tuple[Tensor, Tensor]:
    """Each NaN and infinity meets positive numbers only, so that a row or a column says where it comes from."""
    a, b = normal(generator, (20, 40)).abs() + 0.1, normal(generator, (40, 30)).abs() + 0.1
    a[3, 7], a[5, 39], b[0, 11], b[39, 29] = torch.nan, torch.inf, torch.nan, -torch.inf
    return a, b


def beyond_the_edge(generator: Generator) -> tuple[Tensor, Tensor]:
    """Columns of a and rows of b inside larger tensors, with NaN and infinity around them."""
    a, b = torch.full((9, 64), torch.nan), torch.full((64, 11), torch.inf)
    a[:, 5:28], b[5:28] = normal(generator, (9, 23)), normal(generator, (23, 11))
    return a[:, 5:28], b[5:28]


CASES = (
    Case(
        "ordinary values",
        product(37, 24, 29),
        "Begin here: the product of a (37, 24) and a (24, 29) matrix. " + STEP_BY_STEP,
    ),
    Case(AGAIN, product(37, 24, 29), KEEP_NOTHING),
    Case("whole tiles", product(128, 64, 128), "Several tiles, all of them full: no mask is needed here."),
    Case(
        "several tiles", product(130, 75, 141), "Tiles that stick out on every side, and an inner loop that does too."
    ),
    Case("a row times a matrix", product(1, 50, 70), "M is 1: one row of the tile exists."),
    Case("a matrix times a column", product(70, 50, 1), "N is 1: one column of the tile exists."),
    Case("K is 1", product(33, 1, 18), "One product for each element; the rest of the inner block is masked off."),
    Case("K is 0", product(5, 0, 7), "The sum of nothing is 0, and your kernel has to write it."),
    Case("no rows", product(0, 6, 7), "M is 0: an empty result, and nothing to launch."),
    Case("no columns", product(5, 6, 0), "N is 0: an empty result, and nothing to launch."),
    Case("a transposed", transposed(35, 45, 20, "a"), STRIDES),
    Case("b transposed", transposed(35, 45, 20, "b"), STRIDES),
    Case("both transposed", transposed(35, 45, 20, "ab"), STRIDES),
    Case(
        "every second column",
        lambda generator: (normal(generator, (20, 60))[:, ::2], normal(generator, (30, 50))[:, ::2]),
        STRIDES,
    ),
    Case(
        "b of stride 0",
        lambda generator: (normal(generator, (9, 30)), normal(generator, (30, 1)).expand(30, 21)),
        STRIDES,
    ),
    Case("inside larger tensors", beyond_the_edge, "Past K lie NaN and infinity, and NaN · 0 is NaN: mask both loads."),
    Case(BEYOND, product(3, 40, 20, a=far_apart), BEYOND_HINT),
    Case(
        f"{BEYOND}, in b",
        product(20, 3, 40, b=far_apart),
        "The rows of b lie 2^30 elements apart: in a kernel make the index along K an int64 before you "
        "multiply it by the stride.",
    ),
    Case("float16", product(40, 70, 33, torch.float16), CONVERT),
    Case("bfloat16", product(40, 70, 33, torch.bfloat16), CONVERT),
    Case("20,000 ones", ones, f"A sum of ones in bfloat16 stops growing at 256. {CONVERT}"),
    Case("beyond float16 on the way", up_and_down, "The products fit into float16, the partial sums do not."),
    Case(
        "infinity and NaN",
        not_finite,
        "NaN and infinity must reach the sums they belong to and no others: are masked-off elements 0?",
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
