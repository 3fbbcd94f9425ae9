"""The matrices that show the bugs of row-wise operations: what the rows hold, how long they are, how they lie in
memory.

A case is a matrix x and an eps. What else the function takes (weight, bias, dy, saved statistics) its record adds.
"""

from dataclasses import replace

import torch
from torch import Generator, Tensor

from ...judge import Case, Values, case, draw
from ...runner import Args
from .elementwise import normal
from .signature import MakeArguments, as_they_are
from .wording import AGAIN, BEYOND, BEYOND_HINT, CONVERT, KEEP_NOTHING, NAN_IN, STEP_BY_STEP

ROWWISE = "rowwise"
ORDINARY = 100.0  # standard deviation: so far above any eps that eps, wherever it stands, changes nothing
# Bytes that a thread may spill in the largest case: ptxas spills up to 52 of a norm whatever the number of warps is;
# with too few warps it is hundreds and thousands.
SPILLED = 64
HALF = 30.0  # the same for float16, where the squares of 300 are infinite: that is a case of its own


def offset(generator: Generator, rows: list[tuple[float, float]], n: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """One row for each (mean, standard deviation)."""
    mean, scale = torch.tensor(rows, dtype=torch.float64).unsqueeze(-1).unbind(1)
    return (mean + scale * torch.randn((len(rows), n), generator=generator, dtype=torch.float64)).to(dtype)


def weights(generator: Generator, x: Tensor) -> Tensor:
    """One weight for each column: around 1, never all alike, some of them negative. One alone is -1.3: how many ulp an
    error of all rows is hangs on its digits.
    """
    drawn = 0.7 + normal(generator, x.shape[-1:])
    return (drawn if len(drawn) != 1 else torch.full_like(drawn, -1.3)).to(x.dtype)


def row_mean(x: Tensor) -> Tensor:
    """Returns the mean of each row, with the last dimension kept."""
    return x.mean(-1, keepdim=True)


def row_max(x: Tensor) -> Tensor:
    """The largest |x| of each row; 0 where a row has no elements."""
    return x.abs().amax(-1, keepdim=True) if x.shape[-1] else x.new_zeros(*x.shape[:-1], 1)


def row_bytes(x: Tensor, *parameters: Tensor, statistics: int) -> int:
    """Bytes that a row-wise forward pass moves: x read, y written, and for each row the parameters and its statistics.

    x is read once, which is right for a row that a block can hold; the traffic of longer rows is not graded. The
    parameters are counted for every row, since a program has one row and nothing else to share them with; on a GPU all
    but the first of these reads end in the cache.
    """
    m, n = x.shape
    return 2 * m * n * x.element_size() + m * (sum(p.numel() * p.element_size() for p in parameters) + 4 * statistics)


def matrices_in_bfloat16(args: Args) -> Args:
    """The matrices in bfloat16, everything else as it is."""
    return tuple(a.bfloat16() if isinstance(a, Tensor) and a.dim() == 2 else a for a in args)


def shaped(m: int, n: int, scale: float = ORDINARY) -> Values:
    """Normal numbers."""
    return draw.normal(m, n).scale(scale)


def rows(*means_and_scales: tuple[float, float], n: int = 100) -> Values:
    """Rows of ``n`` elements, one for each mean and scale."""
    return draw.by(lambda generator: offset(generator, list(means_and_scales), n))


def long(n: int) -> Values:
    """Three rows of n elements whose mean is not 0."""
    return rows((200.0, ORDINARY), (-70.0, 90.0), (5.0, 50.0), n=n)


def half_offset(sigma: float, dtype: torch.dtype) -> Values:
    """Eight rows of a half format whose means have few digits left."""
    return draw.by(
        lambda generator: offset(generator, [(m, sigma) for m in (200.0, -180.0, 230.0, 150.0) * 2], 65, dtype)
    )


FAR_FROM_ZERO = rows((200.0, 10.0), (-70.0, 9.0), (50.0, 5.0), n=1)  # else eps shows by chance
RISING = torch.linspace(-ORDINARY, ORDINARY, 20_011)
CONSTANT = draw.tensor([[value] * 60 for value in (3.0, 0.0, -0.1, 700.0)])  # the variance of a row is 0
# Whether the mean is subtracted shows at every seed: by chance it is near 0.
OFF_CENTRE = shaped(7, 128).plus(ORDINARY / 2)
# Blocks of any size differ in their mean by more than sums in any order can lose.
DRIFTING = shaped(2, 20_011).plus(torch.stack((RISING, -RISING)))
# Not so large that the others become equal once the mean is subtracted: errors of a sum of equal numbers do not walk at
# random.
ONE_OUTLIER = shaped(4, 256, 10.0).put((1e4, -1e4, 9999.0, -8888.0), range(4), [0, 17, 255, 100])
LONG_EPS = "3 rows of 8193, eps = 0.1"
WIDER = "bfloat16 with float32 weights"  # x is float32 until the weights have taken their dtype from it

ROUNDED = (
    "Half-precision rows of 65 with a large mean. Is anything rounded to the dtype of x before the last step (the "
    "mean, a difference, a product, a sum over rows), in masked-off lanes, too?"
)

ROWS = (
    case(
        "ordinary values",
        "Begin here: 7 rows of 128 random float32 values. " + STEP_BY_STEP,
        x=OFF_CENTRE,
        subject="plain",
    ),
    case(AGAIN, KEEP_NOTHING, x=OFF_CENTRE, subject="again"),
    # Padded rows come before the cases in which what padding lanes do would pass for something else.
    case(
        "3 columns",
        "Rows of 3: is every mean a sum divided by 3? In a block of 4, what does the fourth lane add to the sums?",
        x=long(3),
        subject="sizes",
    ),
    case(
        "17 columns",
        "Rows of 17: is every mean a sum divided by 17? In a block of 32, what do the other 15 lanes add?",
        x=long(17),
        subject="sizes",
    ),
    case(
        "constant rows",
        "All elements of a row are equal, and in one they are 0. What is left under the root? Is anything 0 / 0?",
        x=CONSTANT,
        subject="range",
    ),
    case(
        "variance far below eps",
        "eps is larger than the variance here: which value has it, and where is it in the formula? Is the mean, up to "
        "1000 standard deviations, subtracted before the square?",
        x=rows((0.0, 1e-6), (0.0, 1e-4), (1.0, 1e-3), (0.0, 3e-3)),
        subject="range",
    ),
    case(
        "eps = 0.1",
        "eps is 0.1 here. Is it used, and where in the formula?",
        x=shaped(5, 100, 1.0),
        eps=0.1,
        subject="range",
    ),
    case(
        "large mean",
        "The mean is a thousand standard deviations. Do you subtract two large numbers that are nearly equal?",
        x=rows((1000.0, 1.0), (-5000.0, 5.0), (1e4, 30.0), (300.0, 0.3)),
        subject="range",
    ),
    case("large mean, float16", ROUNDED, x=half_offset(0.25, torch.float16), subject="half precision"),
    case("large mean, bfloat16", ROUNDED, x=half_offset(2.0, torch.bfloat16), subject="half precision"),
    case(
        "one outlier",
        "One element is a thousand times the others, which must be right as well.",
        x=ONE_OUTLIER,
        subject="range",
    ),
    case(
        "1 column",
        "Rows of one element: the mean is the element, and the variance is 0.",
        x=FAR_FROM_ZERO,
        subject="single",
    ),
    case(
        "127 columns",
        "Rows of 127 elements: one lane of the block holds nothing. Does it add to a sum?",
        x=long(127),
        subject="sizes",
    ),
    case(
        "1000 columns",
        "Rows of 1000 elements, which is not a power of two: a block of 1024 has 24 lanes to mask off.",
        x=long(1000),
        subject="sizes",
    ),
    case(
        "1025 columns",
        "One element more than 1024. Is it read, is it counted, is it written?",
        x=long(1025),
        subject="sizes",
    ),
    case(
        "4096 columns",
        "Rows as wide as a transformer's. Each can be read once and kept in registers.",
        # the largest case; without outliers, which are asked where they are asked at every seed
        x=shaped(16, 4096).clamp(-2.5 * ORDINARY, 2.5 * ORDINARY),
        subject="sizes",
    ),
    case(
        "a row longer than a block",
        "Two rows of 20,011 columns, more than a block of 1024, 4096 or 16384, and no two blocks have one mean: how "
        "are the sums of several blocks put together, and where does the second row begin?",
        x=DRIFTING,
        subject="sizes",
    ),
    case(
        "3 rows of 8193",
        "Three rows of 8193 columns, one more than a block of 8192: does each begin at its own address?",
        x=long(8193),
        subject="sizes",
    ),
    case(
        LONG_EPS,
        "Rows longer than a block, one of which hardly varies, and eps is 0.1: is it added once, to the variance of "
        "the whole row, under the root?",
        x=rows((0.0, 1.0), (0.0, 1e-5), (0.0, 2.0), n=8193),
        eps=0.1,
        subject="range",
    ),
    case("float16", CONVERT, x=shaped(6, 384, HALF).to(torch.float16), subject="half precision"),
    case("bfloat16", CONVERT, x=shaped(6, 384, HALF).to(torch.bfloat16), subject="half precision"),
    case(
        "80 rows", "80 rows of 6: is every row computed, and in the sums over rows?", x=shaped(80, 6), subject="sizes"
    ),
    case("one row", "A matrix of one row is a matrix like any other.", x=shaped(1, 515), subject="single"),
    case("no rows", "No rows go in, no rows come out, and a sum over no rows is 0.", x=shaped(0, 33), subject="empty"),
    case(
        "transposed",
        "A transposed matrix: a row is not contiguous in memory.",
        x=shaped(53, 37).view(torch.t),
        subject="layout",
    ),
    case(
        "rows with gaps",
        "float16 rows of 127, 160 apart in memory: the next row does not begin where this one ends.",
        x=shaped(9, 160, HALF).to(torch.float16).view(lambda x: x[:, 3:130]),
        subject="layout",
    ),
    case(
        "every second column",
        "bfloat16, and the stride of the last dimension is 2: element j of a row is 2 j after its start.",
        x=shaped(9, 202, HALF).to(torch.bfloat16).view(lambda x: x[:, ::2]),
        subject="layout",
    ),
    case(
        "2 rows of 8193, every second column",
        "Rows longer than a block, and the stride of the last dimension is 2: do the strides count in every block of a "
        "row?",
        x=shaped(2, 8193).every_second(),
        subject="layout",
    ),
    case(BEYOND, BEYOND_HINT, x=shaped(3, 70, HALF).to(torch.float16).far_apart(), subject="layout"),
    case(
        "float16 values of 300",
        "300² is 90,000, and the largest float16 is 65,504. In which dtype do you square?",
        x=shaped(12, 400, 300.0).to(torch.float16),
        subject="half precision",
    ),
    case(
        "bfloat16 with float32 weights",
        "Weights are float32 and x is bfloat16, as in most training. Each result has the dtype of its input.",
        x=shaped(6, 96, HALF).to(torch.bfloat16).to(torch.float32),
        subject="half precision",
    ),
    case(
        "NaN in one row",
        "One NaN: its own row is NaN, and what sums over rows; no other row is.",
        x=shaped(5, 45).put(torch.nan, 2, 11),
        subject="NaN and infinity",
    ),
)


def rowwise(*, arguments: MakeArguments = as_they_are) -> tuple[Case, ...]:
    """The cases of a function that normalises the rows of a matrix. Those in which mean and variance matter are no
    trouble to one that takes neither.

    arguments: (generator, x, *eps) -> the exercise's arguments; eps is there in cases that set it, so that one without
    eps needs ``lambda generator, x, *eps: (x,)``.
    """

    def complete(original: Case) -> Case:
        def inputs(generator: Generator) -> Args:
            args = arguments(generator, *original.inputs(generator))
            return matrices_in_bfloat16(args) if original.name == WIDER else args

        return replace(original, inputs=inputs, family=ROWWISE)

    return tuple(map(complete, ROWS))


def backward(*, arguments: MakeArguments) -> tuple[Case, ...]:
    """More cases for a gradient (dy, ...): it also sums over rows, and dy is what another layer handed back."""

    def complete(original: Case, upstream: Values) -> Case:
        """dy as ``upstream`` makes it, everything else as usual."""

        def inputs(generator: Generator) -> Args:
            dy, *rest = arguments(generator, *original.inputs(generator))
            return upstream.of(dy), *rest

        return replace(original, inputs=inputs, family=ROWWISE)

    return tuple(complete(original, upstream) for original, upstream in GRADIENTS)


def nan_in(*parameters: str, of: tuple[str, ...], arguments: MakeArguments) -> tuple[Case, ...]:
    """The cases of a NaN in each of ``parameters``, of the tensors ``of`` that the exercise takes first, in order."""

    def ask(parameter: str) -> Case:
        def inputs(generator: Generator) -> Args:
            args = arguments(generator, shaped(5, 45).drawn(generator))
            args[of.index(parameter)].view(-1)[17] = torch.nan
            return args

        hint = NAN_IN.format(parameter)
        return Case(f"NaN in {parameter}", inputs, hint, family=ROWWISE, subject="NaN and infinity")

    return tuple(map(ask, parameters))


OWN = "each tensor has strides of its own."
GRADIENTS: tuple[tuple[Case, Values], ...] = (
    (
        case(
            "301 rows",
            "301 rows: where a program takes several, the last one has fewer. Are all partial sums added up?",
            x=shaped(301, 6),
            subject="sizes",
        ),
        draw.same,
    ),
    (
        case(
            "distinction: no columns",
            "Rows of no elements: every gradient is empty, and nothing to launch.",
            x=shaped(3, 0),
            subject="empty",
            bonus=True,
        ),
        draw.same,
    ),
    (
        case(
            "tiny dy",
            "dy of about 1e-8, as gradients are late in training: what comes out is as small, with as many digits. Is "
            "anything compared with a constant?",
            x=shaped(9, 75),
            subject="range",
        ),
        draw.same.scale(1e-8),
    ),
    (
        case(
            "dy of stride 0",
            "What .sum() hands back: one number for the whole shape. dy.stride() is (0, 0).",
            x=shaped(29, 67, 3.0),
            subject="layout",
        ),
        draw.same.one_number(),
    ),
    (
        case("dy transposed", f"dy is transposed and x is not: {OWN}", x=shaped(37, 53), subject="layout"),
        draw.same.transposed(),
    ),
    (
        case(
            "dy with gaps",
            f"float16; the rows of dy are 160 apart in memory, those of x 127: {OWN}",
            x=shaped(9, 127, HALF).to(torch.float16),
            subject="layout",
        ),
        draw.same.with_gaps(),
    ),
    (
        case(
            "2 rows of 8193, dy in every second column",
            f"Rows longer than a block; the last stride of dy is 2, that of x 1: {OWN} Do they count in every block?",
            x=shaped(2, 8193),
            subject="layout",
        ),
        draw.same.every_second(),
    ),
    (
        case(f"{BEYOND}, in dy", BEYOND_HINT, x=shaped(3, 70, HALF).to(torch.float16), subject="layout"),
        draw.same.far_apart(),
    ),
)
