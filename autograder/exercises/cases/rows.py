"""The matrices that show the bugs of row-wise operations: what the rows hold, how long they are, how they lie in
memory.

A case is a matrix x and an eps. What else the function takes (weight, bias, dy, saved statistics) its record adds.
"""

from collections.abc import Callable

import torch

from ...run.apart import far_apart
from ...run.dtypes import dtype_name
from ..record import Case
from .elementwise import BEYOND, BEYOND_HINT, normal

# (generator, x, eps or None for its default, dtype of the weights or None for that of x) -> the exercise's arguments
Arguments = Callable[[torch.Generator, torch.Tensor, float | None, torch.dtype | None], tuple]

ORDINARY = 100.0  # standard deviation: so far above any eps that eps, wherever it stands, changes nothing
HALF = 30.0  # the same for float16, where the squares of 300 are infinite: that is a case of its own


def offset(generator: torch.Generator, rows: list[tuple[float, float]], n: int, dtype=torch.float32) -> torch.Tensor:
    """One row for each (mean, standard deviation)."""
    mean, scale = torch.tensor(rows, dtype=torch.float64).unsqueeze(-1).unbind(1)
    return (mean + scale * torch.randn((len(rows), n), generator=generator, dtype=torch.float64)).to(dtype)


def weights(generator: torch.Generator, x: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    """One weight for each column: around 1, never all alike, some of them negative."""
    return (0.7 + normal(generator, x.shape[-1:])).to(dtype or x.dtype)


def row_mean(x: torch.Tensor) -> torch.Tensor:
    return x.mean(-1, keepdim=True)


def row_max(x: torch.Tensor) -> torch.Tensor:
    """The largest |x| of each row."""
    return x.abs().amax(-1, keepdim=True)


def floors(*values) -> tuple:
    """An absolute tolerance for each output: 0 where a NaN in the input makes the expected value NaN too."""
    return tuple(torch.as_tensor(v, dtype=torch.float64).nan_to_num() for v in values)


def row_bytes(x: torch.Tensor, *parameters: torch.Tensor, statistics: int) -> int:
    """Bytes that a row-wise forward pass moves: x read, y written, and for each row the parameters and its statistics.

    x is read once, which is right for a row that a block can hold; the traffic of longer rows is not graded. The
    parameters are counted for every row, since a program has one row and nothing else to share them with; on a GPU all
    but the first of these reads end in the cache.
    """
    m, n = x.shape
    return 2 * m * n * x.element_size() + m * (sum(p.numel() * p.element_size() for p in parameters) + 4 * statistics)


def rowwise(arguments: Arguments) -> tuple[Case, ...]:
    """The cases of a function that normalises the rows of a matrix. Those in which mean and variance matter are no
    trouble to one that takes neither.
    """

    def case(name, x: Callable[[torch.Generator], torch.Tensor], hint, eps=None, dtype=None) -> Case:
        return Case(name, lambda generator: arguments(generator, x(generator), eps, dtype), hint)

    def shaped(m: int, n: int, dtype=torch.float32, scale: float = ORDINARY, view=lambda x: x):
        return lambda generator: view(normal(generator, (m, n), dtype, scale))

    def rows(*means_and_scales: tuple[float, float], n: int = 100):
        return lambda generator: offset(generator, list(means_and_scales), n)

    def wide(lengths) -> list[Case]:
        rows_with_means = ((200.0, ORDINARY), (-70.0, 90.0), (5.0, 50.0))
        return [case(f"{n} column{'s'[: n > 1]}", rows(*rows_with_means, n=n), hint) for n, hint in lengths]

    cases = [
        case(
            "ordinary values",
            shaped(7, 128),
            "Begin here: 7 rows of 128 random float32 values. Compare with the formula, row by row.",
        ),
        *wide(PADDED),  # before the cases in which what padding lanes do would pass for something else
        case(
            "constant rows",
            lambda generator: torch.tensor([3.0, 0.0, -0.1, 700.0]).unsqueeze(-1).repeat(1, 60),
            "All elements of a row are equal, and in one they are 0. What is left under the root? Is anything 0 / 0?",
        ),
        case(
            "variance far below eps",
            rows((0.0, 1e-6), (0.0, 1e-4), (1.0, 1e-3), (0.0, 3e-3)),
            "eps is larger than the variance here: which value has it, and where is it in the formula? Is the "
            "mean, up to "
            "1000 standard deviations, subtracted before the square?",
        ),
        case(
            "eps = 0.1",
            shaped(5, 100, scale=1.0),
            "eps is an argument, 0.1 here. Is it used, and where in the formula is it?",
            eps=0.1,
        ),
        case(
            "large mean",
            rows((1000.0, 1.0), (-5000.0, 5.0), (1e4, 30.0), (300.0, 0.3)),
            "The mean is a thousand standard deviations. Does your formula subtract two large numbers that are "
            "nearly equal?",
        ),
        *(
            case(
                f"large mean, {dtype_name(dtype)}",
                lambda generator, dtype=dtype, sigma=sigma: offset(
                    generator, [(m, sigma) for m in (200.0, -180.0, 230.0, 150.0) * 2], 65, dtype
                ),
                f"{dtype_name(dtype)} rows of 65 with a large mean. Is the mean ever rounded to the dtype of x, "
                "in masked-off lanes, too?",
            )
            for dtype, sigma in ((torch.float16, 0.25), (torch.bfloat16, 2.0))
        ),
        case("one outlier", _outlier, "One element is a million times the others, which must be right as well."),
    ]
    cases += wide(LENGTHS)
    cases += [
        case(
            "4096 columns",
            shaped(6, 4096),
            "Rows as wide as a transformer's. Each can be read once and kept in registers.",
        ),
        case(
            "a row longer than a block",
            shaped(1, 20_011),
            "20,011 columns, more than a block of 1024, 4096 or 16384: how are the sums of several blocks put "
            "together?",
        ),
        case(
            "float16",
            shaped(6, 384, torch.float16, HALF),
            "Convert to float32 first, compute there, and round once at the end.",
        ),
        case(
            "bfloat16",
            shaped(6, 384, torch.bfloat16, HALF),
            "Convert to float32 first, compute there, and round once at the end.",
        ),
        case("80 rows", shaped(80, 6), "80 rows of 6: is every row computed, and is every row in the sums over rows?"),
        case("one row", shaped(1, 515), "A matrix of one row is a matrix like any other."),
        case("no rows", shaped(0, 33), "No rows go in, no rows come out, and a sum over no rows is 0."),
        case(
            "transposed",
            shaped(53, 37, view=lambda x: x.t()),
            "A transposed matrix: neighbours in a row are not neighbours in memory.",
        ),
        case(
            "rows with gaps",
            shaped(9, 160, torch.float16, HALF, view=lambda x: x[:, 3:130]),
            "float16 rows of 127, 160 apart in memory: the next row does not begin where this one ends.",
        ),
        case(
            "every second column",
            shaped(9, 202, torch.bfloat16, HALF, view=lambda x: x[:, ::2]),
            "bfloat16, and the stride of the last dimension is 2: element j of a row is 2 j after its start.",
        ),
        case(BEYOND, shaped(3, 70, torch.float16, HALF, view=far_apart), BEYOND_HINT),
        case(
            "float16 values of 300",
            shaped(4, 200, torch.float16, 300.0),
            "300² is 90,000, and the largest float16 is 65,504. In which dtype do you square?",
        ),
        case(
            "bfloat16 with float32 weights",
            shaped(6, 96, torch.bfloat16, HALF),
            "Weights are float32 and x is bfloat16, as in most training. Each result has the dtype of its input.",
            dtype=torch.float32,
        ),
        case(
            "NaN in one row",
            _one_nan,
            "One row has a NaN: NaN in what belongs to that row and in sums over all rows, and nowhere else.",
        ),
    ]
    return tuple(cases)


PADDED = (
    (3, "Rows of 3: is every mean a sum divided by 3? In a block of 4, what does the fourth lane add to the sums?"),
    (17, "Rows of 17: is every mean a sum divided by 17? In a block of 32, what do the other 15 lanes add?"),
)
LENGTHS = (
    (1, "Rows of one element: the mean is the element, and the variance is 0."),
    (127, "Rows of 127 elements: one lane of the block holds nothing. Does it add to a sum?"),
    (1000, "Rows of 1000 elements, which is no power of two: a block of 1024 has 24 lanes to mask off."),
    (1025, "One element more than 1024. Is it read, is it counted, is it written?"),
)


def backward(arguments: Arguments) -> tuple[Case, ...]:
    """More cases for a gradient (dy, ...): it also sums over rows, and dy is what another layer handed back."""

    def many_rows(generator):
        return arguments(generator, normal(generator, (301, 6), scale=ORDINARY), None, None)

    def expanded(generator):
        _, *rest = arguments(generator, normal(generator, (29, 67), scale=3.0), None, None)
        return torch.tensor(-0.7).expand(29, 67), *rest

    many_hint = "301 rows: where a program takes several, the last one has fewer. Are all partial sums added up?"
    expanded_hint = "What .sum() hands back: one number for the whole shape. dy.stride() is (0, 0)."
    return Case("301 rows", many_rows, many_hint), Case("dy of stride 0", expanded, expanded_hint)


def _outlier(generator: torch.Generator) -> torch.Tensor:
    x = normal(generator, (4, 256), scale=0.01)
    x[0, 0], x[1, 17], x[2, 255], x[3, 100] = 1e4, -1e4, 9999.0, -8888.0
    return x


def _one_nan(generator: torch.Generator) -> torch.Tensor:
    x = normal(generator, (5, 45), scale=ORDINARY)
    x[2, 11] = torch.nan
    return x
