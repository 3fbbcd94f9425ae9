"""What a tiled matrix product moves and computes, from its sizes alone: the two numbers of a roofline."""

import torch
from torch import Generator, Tensor

from ..judge import AGAIN, KEEP_NOTHING, Case, Exercise, Inputs, Output, View, as_it_is, every_second, transposed
from ..runner import Args


def cost(sizes: Tensor, block_m: int = 64, block_n: int = 64, element_bytes: int = 2) -> tuple[Tensor, Tensor]:
    """(bytes, flops) of each product: a is read once for each column of tiles, b once for each row of them."""
    m, n, k = sizes.unbind(1)
    rows, columns = (m + block_m - 1) // block_m, (n + block_n - 1) // block_n
    return element_bytes * (m * k * columns + k * n * rows + m * n), 2 * m * n * k


def _drawn(least: int, most: int, count: int = 6, *, view: View = as_it_is, more: Args = ()) -> Inputs:
    """Sizes from ``least`` to ``most``. more: blocks and bytes of an element, where they are not the default."""
    return lambda generator: (view(torch.randint(least, most + 1, (count, 3), generator=generator)), *more)


def _whole_tiles(generator: Generator) -> Args:
    return (64 * torch.randint(1, 9, (5, 3), generator=generator),)


def _with(column: int, value: int) -> Inputs:
    """Sizes of which one is always ``value``."""

    def inputs(generator: Generator) -> Args:
        sizes = torch.randint(2, 700, (4, 3), generator=generator)
        sizes[:, column] = value
        return (sizes,)

    return inputs


EDGE = "A tile at the edge is a tile: round up. It reads the rows and columns that exist, and no others."
CASES = tuple(
    Case(name, inputs, hint)
    for name, inputs, hint in (
        (
            "ordinary values",
            _drawn(65, 700),
            "Begin here: six products. Draw the tiles of c for one of them. Which rows of a does one tile read, and "
            "how many tiles read the same rows?",
        ),
        (AGAIN, _drawn(65, 700), KEEP_NOTHING),
        ("whole tiles", _whole_tiles, "Every size is a multiple of 64: nothing sticks out, and nothing is rounded."),
        ("less than a tile", _drawn(1, 63), f"One program does it all, and reads each matrix once. {EDGE}"),
        (
            "tall blocks",
            _drawn(65, 700, more=(128, 32)),
            "Blocks of 128 rows and 32 columns: which of them counts the reads of a?",
        ),
        (
            "wide blocks",
            _drawn(65, 700, more=(16, 256)),
            "Blocks of 16 rows and 256 columns: which of them counts the reads of b?",
        ),
        ("float32", _drawn(65, 700, more=(64, 64, 4)), "Elements of 4 bytes: every byte count doubles, no flop does."),
        ("a row times a matrix", _with(0, 1), "M is 1: one row of tiles, so b is read once."),
        ("a matrix times a column", _with(1, 1), "N is 1: one column of tiles, so a is read once."),
        ("K is 0", _with(2, 0), "Nothing is read and nothing is multiplied; c is written all the same."),
        ("no rows", _with(0, 0), "M is 0: there is no tile, and nobody reads b."),
        ("no columns", _with(1, 0), "N is 0: there is no tile, and nobody reads a."),
        ("one product", _drawn(65, 700, 1), "One row goes in, one number of each kind comes out."),
        ("no products", _drawn(65, 700, 0), "No row goes in, empty tensors come out."),
        (
            "sizes near 300,000",
            _drawn(290_000, 310_000),
            "Both results are beyond an int32, and the flops beyond 2^53, up to which float64 holds every integer.",
        ),
        ("transposed", _drawn(65, 700, 7, view=transposed), "The table is transposed: a product is a row of it."),
        ("every second column", _drawn(65, 700, view=every_second), "The stride of the last dimension is 2."),
    )
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
