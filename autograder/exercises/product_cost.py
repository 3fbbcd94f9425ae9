"""Says what a tiled matrix product moves and computes, from its sizes alone: the two numbers of a roofline."""

import torch
from torch import Tensor

from ..judge import Exercise, Output, Values, case, draw
from .cases.wording import AGAIN, KEEP_NOTHING


def cost(sizes: Tensor, block_m: int = 64, block_n: int = 64, element_bytes: int = 2) -> tuple[Tensor, Tensor]:
    """(bytes, flops) of each product: a is read once for each column of tiles, b once for each row of them."""
    m, n, k = sizes.unbind(1)
    rows, columns = (m + block_m - 1) // block_m, (n + block_n - 1) // block_n
    return element_bytes * (m * k * columns + k * n * rows + m * n), 2 * m * n * k


def sizes(low: int, high: int, count: int = 6) -> Values:
    """(M, N, K) of so many products."""
    return draw.integers(count, 3, low=low, high=high)


EDGE = "A tile at the edge is a tile: round up. It reads the rows and columns that exist, and no others."
CASES = (
    case(
        "ordinary values",
        "Begin here: six products. Draw the tiles of c for one of them. Which rows of a does one tile read, and "
        "how many tiles read the same rows?",
        sizes=sizes(65, 700),
    ),
    case(AGAIN, KEEP_NOTHING, sizes=sizes(65, 700)),
    case(
        "whole tiles",
        "Every size is a multiple of 64: nothing sticks out, and nothing is rounded.",
        sizes=sizes(1, 8, 5).scale(64),
    ),
    case("less than a tile", f"One program does it all, and reads each matrix once. {EDGE}", sizes=sizes(1, 63)),
    case(
        "tall blocks",
        "Blocks of 128 rows and 32 columns: which of them counts the reads of a?",
        sizes=sizes(65, 700),
        block_m=128,
        block_n=32,
    ),
    case(
        "wide blocks",
        "Blocks of 16 rows and 256 columns: which of them counts the reads of b?",
        sizes=sizes(65, 700),
        block_m=16,
        block_n=256,
    ),
    case(
        "float32",
        "Elements of 4 bytes: every byte count doubles, no flop does.",
        sizes=sizes(65, 700),
        block_m=64,
        block_n=64,
        element_bytes=4,
    ),
    case(
        "a row times a matrix",
        "M is 1: one row of tiles, so b is read once.",
        sizes=sizes(2, 699, 4).put(1, slice(None), 0),
    ),
    case(
        "a matrix times a column",
        "N is 1: one column of tiles, so a is read once.",
        sizes=sizes(2, 699, 4).put(1, slice(None), 1),
    ),
    case(
        "K is 0",
        "Nothing is read and nothing is multiplied; c is written all the same.",
        sizes=sizes(2, 699, 4).put(0, slice(None), 2),
    ),
    case("no rows", "M is 0: there is no tile, and nobody reads b.", sizes=sizes(2, 699, 4).put(0, slice(None), 0)),
    case("no columns", "N is 0: there is no tile, and nobody reads a.", sizes=sizes(2, 699, 4).put(0, slice(None), 1)),
    case("one product", "One row goes in, one number of each kind comes out.", sizes=sizes(65, 700, 1)),
    case("no products", "No row goes in, empty tensors come out.", sizes=sizes(65, 700, 0)),
    case(
        "sizes near 300,000",
        "Both results are beyond an int32, and the flops beyond 2^53, up to which float64 holds every integer.",
        sizes=sizes(290_000, 310_000),
    ),
    case("transposed", "The table is transposed: a product is a row of it.", sizes=sizes(65, 700, 7).transposed()),
    case("every second column", "The stride of the last dimension is 2.", sizes=sizes(65, 700).every_second()),
)

product_cost = Exercise(
    name="product_cost",
    summary="bytes = element_bytes · (M K ⌈N / block_n⌉ + K N ⌈M / block_m⌉ + M N), flops = 2 M N K",
    oracle=cost,
    outputs=(Output("moved", torch.int64), Output("flops", torch.int64)),
    cases=CASES,
    hint="One program for each tile of c: it reads block_m rows of a and block_n columns of b, and writes its tile.",
    backends=("torch",),
    points=2,
    about=("whole tiles", "less than a tile", "tall blocks"),
)
