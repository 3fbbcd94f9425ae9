"""The matrices that show the bugs of row-wise operations: what the rows hold, how long they are, how they lie in
memory.

A case is a matrix x and an eps. What else the function takes (weight, bias, dy, saved statistics) its record adds.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from ...runner import Args, far_apart
from .common import (
    AGAIN,
    KEEP_NOTHING,
    STEP_BY_STEP,
    MakeArguments,
    View,
    as_they_are,
    every_second,
    one_number,
    transposed,
    with_gaps,
)
from .elementwise import BEYOND, BEYOND_HINT, normal
from .record import Case, Floors, Subject

ROWWISE = "rowwise"
ORDINARY = 100.0  # standard deviation: so far above any eps that eps, wherever it stands, changes nothing
HALF = 30.0  # the same for float16, where the squares of 300 are infinite: that is a case of its own


def offset(generator: Generator, rows: list[tuple[float, float]], n: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """One row for each (mean, standard deviation)."""
    mean, scale = torch.tensor(rows, dtype=torch.float64).unsqueeze(-1).unbind(1)
    return (mean + scale * torch.randn((len(rows), n), generator=generator, dtype=torch.float64)).to(dtype)


def weights(generator: Generator, x: Tensor) -> Tensor:
    """One weight for each column: around 1, never all alike, some of them negative."""
    return (0.7 + normal(generator, x.shape[-1:])).to(x.dtype)


def row_mean(x: Tensor) -> Tensor:
    """Returns the mean of each row, with the last dimension kept."""
    return x.mean(-1, keepdim=True)


def row_max(x: Tensor) -> Tensor:
    """The largest |x| of each row; 0 where a row has no elements."""
    return x.abs().amax(-1, keepdim=True) if x.shape[-1] else x.new_zeros(*x.shape[:-1], 1)


def floors(*values: Tensor | float) -> Floors:
    """An absolute tolerance for each output: 0 where a NaN in the input makes the expected value NaN too."""
    return tuple(torch.as_tensor(v, dtype=torch.float64).nan_to_num() for v in values)


def row_bytes(x: Tensor, *parameters: Tensor, statistics: int) -> int:
    """Bytes that a row-wise forward pass moves: x read, y written, and for each row the parameters and its statistics.

    x is read once, which is right for a row that a block can hold; the traffic of longer rows is not graded. The
    parameters are counted for every row, since a program has one row and nothing else to share them with; on a GPU all
    but the first of these reads end in the cache.
    """
    m, n = x.shape
    return 2 * m * n * x.element_size() + m * (sum(p.numel() * p.element_size() for p in parameters) + 4 * statistics)


Draw = Callable[[Generator], Tensor]


def matrices_in_bfloat16(args: Args) -> Args:
    """The matrices in bfloat16, everything else as it is."""
    return tuple(a.bfloat16() if isinstance(a, Tensor) and a.dim() == 2 else a for a in args)


class Row(NamedTuple):
    """One case. eps: of the function, or None for its default. change: of the exercise's arguments."""

    name: str
    subject: Subject
    x: Draw
    hint: str
    eps: float | None = None
    change: Callable[[Args], Args] = lambda args: args

    def draw(self, generator: Generator) -> Args:
        """(x,), and ``eps`` where it is set."""
        x = self.x(generator)
        return (x,) if self.eps is None else (x, self.eps)


def shaped(
    m: int,
    n: int,
    dtype: torch.dtype = torch.float32,
    scale: float = ORDINARY,
    view: View = lambda x: x,
) -> Draw:
    """Normal values, seen through ``view``."""
    return lambda generator: view(normal(generator, (m, n), dtype, scale))


def rows(*means_and_scales: tuple[float, float], n: int = 100) -> Draw:
    """Returns what draws rows of ``n`` elements, one for each mean and scale."""
    return lambda generator: offset(generator, list(means_and_scales), n)


def long(n: int) -> Draw:
    """Three rows of n elements whose mean is not 0."""
    return rows((200.0, ORDINARY), (-70.0, 90.0), (5.0, 50.0), n=n)


def half_offset(sigma: float, dtype: torch.dtype) -> Draw:
    """Eight rows of a half format whose means have few digits left."""
    return lambda generator: offset(generator, [(m, sigma) for m in (200.0, -180.0, 230.0, 150.0) * 2], 65, dtype)


def constant(generator: Generator) -> Tensor:
    """Returns four rows (4, 60), each of one value: its variance is 0."""
    return torch.tensor([3.0, 0.0, -0.1, 700.0]).unsqueeze(-1).repeat(1, 60)


def drifting(generator: Generator) -> Tensor:
    """Two rows whose blocks, of any size, differ in their mean by more than sums in any order can lose."""
    rising = torch.linspace(-ORDINARY, ORDINARY, 20_011)
    return normal(generator, (2, 20_011), scale=ORDINARY) + torch.stack((rising, -rising))


def one_outlier(generator: Generator) -> Tensor:
    """Rows with an outlier. It is not so large that the others become equal once the mean is subtracted: errors of a
    sum of equal numbers do not walk at random.
    """
    x = normal(generator, (4, 256), scale=10.0)
    x[0, 0], x[1, 17], x[2, 255], x[3, 100] = 1e4, -1e4, 9999.0, -8888.0
    return x


def one_nan(generator: Generator) -> Tensor:
    """Draws rows (5, 45) with a NaN in one of them."""
    x = normal(generator, (5, 45), scale=ORDINARY)
    x[2, 11] = torch.nan
    return x


CONVERT = "Convert to float32 first, compute there, and round once at the end."
ROUNDED = (
    "Half-precision rows of 65 with a large mean. Is anything rounded to the dtype of x before the last step (the "
    "mean, a difference, a product, a sum over rows), in masked-off lanes, too?"
)

ROWS = (
    Row(
        "ordinary values",
        "plain",
        shaped(7, 128),
        "Begin here: 7 rows of 128 random float32 values. " + STEP_BY_STEP,
    ),
    Row(AGAIN, "again", shaped(7, 128), KEEP_NOTHING),
    # Padded rows come before the cases in which what padding lanes do would pass for something else.
    Row(
        "3 columns",
        "sizes",
        long(3),
        "Rows of 3: is every mean a sum divided by 3? In a block of 4, what does the fourth lane add to the sums?",
    ),
    Row(
        "17 columns",
        "sizes",
        long(17),
        "Rows of 17: is every mean a sum divided by 17? In a block of 32, what do the other 15 lanes add?",
    ),
    Row(
        "constant rows",
        "range",
        constant,
        "All elements of a row are equal, and in one they are 0. What is left under the root? Is anything 0 / 0?",
    ),
    Row(
        "variance far below eps",
        "range",
        rows((0.0, 1e-6), (0.0, 1e-4), (1.0, 1e-3), (0.0, 3e-3)),
        "eps is larger than the variance here: which value has it, and where is it in the formula? Is the mean, up to "
        "1000 standard deviations, subtracted before the square?",
    ),
    Row(
        "eps = 0.1",
        "range",
        shaped(5, 100, scale=1.0),
        "eps is 0.1 here. Is it used, and where in the formula?",
        eps=0.1,
    ),
    Row(
        "large mean",
        "range",
        rows((1000.0, 1.0), (-5000.0, 5.0), (1e4, 30.0), (300.0, 0.3)),
        "The mean is a thousand standard deviations. Do you subtract two large numbers that are nearly equal?",
    ),
    Row("large mean, float16", "half precision", half_offset(0.25, torch.float16), ROUNDED),
    Row("large mean, bfloat16", "half precision", half_offset(2.0, torch.bfloat16), ROUNDED),
    Row(
        "one outlier", "range", one_outlier, "One element is a thousand times the others, which must be right as well."
    ),
    Row("1 column", "single", long(1), "Rows of one element: the mean is the element, and the variance is 0."),
    Row(
        "127 columns",
        "sizes",
        long(127),
        "Rows of 127 elements: one lane of the block holds nothing. Does it add to a sum?",
    ),
    Row(
        "1000 columns",
        "sizes",
        long(1000),
        "Rows of 1000 elements, which is not a power of two: a block of 1024 has 24 lanes to mask off.",
    ),
    Row("1025 columns", "sizes", long(1025), "One element more than 1024. Is it read, is it counted, is it written?"),
    Row(
        "4096 columns",
        "sizes",
        shaped(10, 4096),
        "Rows as wide as a transformer's. Each can be read once and kept in registers.",
    ),
    Row(
        "a row longer than a block",
        "sizes",
        drifting,
        "Two rows of 20,011 columns, more than a block of 1024, 4096 or 16384, and no two blocks have one mean: how "
        "are the sums of several blocks put together, and where does the second row begin?",
    ),
    Row(
        "3 rows of 8193",
        "sizes",
        rows((200.0, ORDINARY), (0.0, 1e-5), (5.0, 50.0), n=8193),
        "Three rows of 8193 columns, one more than a block of 8192: does each begin at its own address? "
        "The second hardly varies: is eps added once, to the variance of the whole row?",
    ),
    Row("float16", "half precision", shaped(6, 384, torch.float16, HALF), CONVERT),
    Row("bfloat16", "half precision", shaped(6, 384, torch.bfloat16, HALF), CONVERT),
    Row("80 rows", "sizes", shaped(80, 6), "80 rows of 6: is every row computed, and in the sums over rows?"),
    Row("one row", "single", shaped(1, 515), "A matrix of one row is a matrix like any other."),
    Row("no rows", "empty", shaped(0, 33), "No rows go in, no rows come out, and a sum over no rows is 0."),
    Row(
        "transposed",
        "layout",
        shaped(53, 37, view=lambda x: x.t()),
        "A transposed matrix: a row is not contiguous in memory.",
    ),
    Row(
        "rows with gaps",
        "layout",
        shaped(9, 160, torch.float16, HALF, view=lambda x: x[:, 3:130]),
        "float16 rows of 127, 160 apart in memory: the next row does not begin where this one ends.",
    ),
    Row(
        "every second column",
        "layout",
        shaped(9, 202, torch.bfloat16, HALF, view=lambda x: x[:, ::2]),
        "bfloat16, and the stride of the last dimension is 2: element j of a row is 2 j after its start.",
    ),
    Row(
        "2 rows of 8193, every second column",
        "layout",
        shaped(2, 8193, view=every_second),
        "Rows longer than a block, and the stride of the last dimension is 2: do the strides count in every block of a "
        "row?",
    ),
    Row(BEYOND, "layout", shaped(3, 70, torch.float16, HALF, view=far_apart), BEYOND_HINT),
    Row(
        "float16 values of 300",
        "half precision",
        shaped(4, 200, torch.float16, 300.0),
        "300² is 90,000, and the largest float16 is 65,504. In which dtype do you square?",
    ),
    Row(
        "bfloat16 with float32 weights",
        "half precision",
        shaped(6, 96, torch.bfloat16, HALF, view=lambda x: x.float()),  # the dtype that weights take from x
        "Weights are float32 and x is bfloat16, as in most training. Each result has the dtype of its input.",
        change=matrices_in_bfloat16,
    ),
    Row(
        "NaN in one row",
        "NaN and infinity",
        one_nan,
        "One NaN: its own row is NaN, and what sums over rows; no other row is.",
    ),
)


def rowwise(*, arguments: MakeArguments = as_they_are) -> tuple[Case, ...]:
    """The cases of a function that normalises the rows of a matrix. Those in which mean and variance matter are no
    trouble to one that takes neither.

    arguments: (generator, x, *eps) -> the exercise's arguments; eps is there in cases that set it, so that one without
    eps needs ``lambda generator, x, *eps: (x,)``.
    """

    def case(row: Row) -> Case:
        def inputs(generator: Generator) -> Args:
            return row.change(arguments(generator, *row.draw(generator)))

        return Case(row.name, inputs, row.hint, family=ROWWISE, subject=row.subject)

    return tuple(case(row) for row in ROWS)


def backward(*, arguments: MakeArguments) -> tuple[Case, ...]:
    """More cases for a gradient (dy, ...): it also sums over rows, and dy is what another layer handed back."""

    def case(name: str, subject: Subject, x: Draw, view: View, hint: str) -> Case:
        """dy as ``view`` makes it, everything else as usual."""

        def inputs(generator: Generator) -> Args:
            dy, *rest = arguments(generator, x(generator))
            return view(dy), *rest

        return Case(name, inputs, hint, family=ROWWISE, subject=subject)

    return tuple(case(*row) for row in GRADIENTS)


OWN = "each tensor has strides of its own."
GRADIENTS: tuple[tuple[str, Subject, Draw, View, str], ...] = (
    (
        "301 rows",
        "sizes",
        shaped(301, 6),
        lambda dy: dy,
        "301 rows: where a program takes several, the last one has fewer. Are all partial sums added up?",
    ),
    (
        "no columns",
        "empty",
        shaped(3, 0),
        lambda dy: dy,
        "Rows of no elements: every gradient is empty, and nothing to launch.",
    ),
    (
        "tiny dy",
        "range",
        shaped(9, 75),
        lambda dy: dy * 1e-8,
        "dy of about 1e-8, as gradients are late in training: what comes out is as small, with as many digits. Is "
        "anything compared with a constant?",
    ),
    (
        "dy of stride 0",
        "layout",
        shaped(29, 67, scale=3.0),
        one_number,
        "What .sum() hands back: one number for the whole shape. dy.stride() is (0, 0).",
    ),
    ("dy transposed", "layout", shaped(37, 53), transposed, f"dy is transposed and x is not: {OWN}"),
    (
        "dy with gaps",
        "layout",
        shaped(9, 127, torch.float16, HALF),
        with_gaps,
        f"float16; the rows of dy are 160 apart in memory, those of x 127: {OWN}",
    ),
    (
        "2 rows of 8193, dy in every second column",
        "layout",
        shaped(2, 8193),
        every_second,
        f"Rows longer than a block; the last stride of dy is 2, that of x 1: {OWN} Do they count in every block?",
    ),
    (f"{BEYOND}, in dy", "layout", shaped(3, 70, torch.float16, HALF), far_apart, BEYOND_HINT),
)
