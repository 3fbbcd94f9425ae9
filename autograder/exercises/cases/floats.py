"""The inputs of the first chapter: pairs of numbers a known way apart, a scalar with tensors, rows to sum."""

from dataclasses import replace

import torch
from torch import Generator, Tensor

from ...judge import Arguments, Case, case, draw
from .elementwise import elementwise
from .wording import AGAIN, BEYOND, BEYOND_HINT, KEEP_NOTHING, STEP_BY_STEP

INF, NAN = float("inf"), float("nan")
FRACTION = 23  # bits of a float32, below its exponent
GENERAL: tuple[str, ...] = ("ordinary values", AGAIN, "one block", "three blocks and a rest", "one element")
GENERAL += ("no dimensions", "no elements", "no rows")
GENERAL += ("transposed", "rows with gaps", "x transposed")
GENERAL += ("odd shape, several blocks", "every second column", "every float16 value", "every bfloat16 value")
GENERAL += ("x of stride 0", "infinity and NaN", "NaN in y", BEYOND)


def compared() -> tuple[Case, ...]:
    """Returns what came out, what was expected, and a tolerance."""

    def off(generator: Generator, expected: Tensor) -> Tensor:
        """A third of the elements is off by 2 to 4 tolerances, up or down, the others by half of one at most."""
        off = torch.rand(expected.shape, generator=generator)
        far, up = torch.rand((2, *expected.shape), generator=generator)
        return expected + 1e-3 * torch.where(far < 1 / 3, 2 + 2 * off, off / 2) * torch.where(up < 0.5, -1.0, 1.0)

    def drawn(*sizes: int) -> Arguments:
        return Arguments.named(expected=draw.normal(*sizes), actual=draw.by(off), tolerance=1e-3)

    return (
        case("ordinary values", "Begin here: which elements are right? All others count.", drawn(300)),
        case(AGAIN, KEEP_NOTHING, drawn(300)),
        case(
            "NaN",
            "Every comparison with NaN is false. Count what is not shown to be right.",
            actual=draw.tensor([NAN, 1.0, NAN, 1.0, 2.0]),
            expected=draw.tensor([1.0, NAN, NAN, 1.25, 1.0]),
            tolerance=0.5,
        ),
        case(
            "infinities",
            "inf - inf is NaN, and an infinity that was expected is right.",
            actual=draw.tensor([INF, -INF, INF, INF, 1.0]),
            expected=draw.tensor([INF, -INF, -INF, 3e38, 1.0]),
            tolerance=0.5,
        ),
        case(
            "on the tolerance",
            "Off by exactly the tolerance is within it.",
            actual=draw.tensor([1.5, 0.5, 1.75, -1.5, 0.25]),
            expected=draw.tensor([1.0, 1.0, 1.0, -1.0, 1.0]),
            tolerance=0.5,
        ),
        case(
            "tolerance 0",
            "Equal is right.",
            actual=draw.tensor([1.0, 1.0000001, 0.0, -2.0]),
            expected=draw.tensor([1.0, 1.0, -0.0, 2.0]),
            tolerance=0.0,
        ),
        case("no dimensions", "x.shape may be ().", drawn()),
        case("no elements", "Of nothing, nothing is wrong: 0.", drawn(0)),
        case(
            "transposed",
            "A transposed matrix: any strides will do.",
            drawn(37, 53).each(draw.same.transposed(), "actual", "expected"),
        ),
    )


def pairs() -> tuple[Case, ...]:
    """Two tensors of one shape and dtype, for a function that counts the numbers between them."""

    def moved(generator: Generator, expected: Tensor) -> Tensor:
        """Up to 999 steps away, between the same powers of two."""
        steps = torch.randint(0, 1000, expected.shape, generator=generator, dtype=torch.int32)
        bits = expected.view(torch.int32)
        return torch.where((bits + steps) >> FRACTION == bits >> FRACTION, bits + steps, bits).view(torch.float32)

    def near(*sizes: int) -> Arguments:
        return Arguments.named(expected=draw.normal(*sizes), actual=draw.by(moved))

    def listed(*rows: tuple[float, float]) -> Arguments:
        actual, expected = zip(*rows, strict=True)
        return Arguments.named(actual=draw.tensor(actual), expected=draw.tensor(expected))

    def shuffled(generator: Generator, actual: Tensor) -> Tensor:
        return actual[torch.randperm(len(actual), generator=generator)]

    def all_of(dtype: torch.dtype) -> Arguments:
        return Arguments.named(actual=draw.every_value(dtype), expected=draw.by(shuffled))

    powers = ((1.0000002, 0.9999999), (2.0000005, 1.9999998), (-0.031251602, -0.031249959), (0.50000006, 0.49999997))
    zero = ((0.0, -0.0), (1e-45, 0.0), (-1e-45, 1e-45), (-1.0, 1.0), (3.0, -2.0), (-1e-40, 1e-38))
    far = ((INF, 3.4028235e38), (-INF, INF), (-3.4028235e38, 3.4028235e38), (INF, INF), (1e-45, 3e38), (-INF, 0.0))
    none = ((NAN, 1.0), (1.0, NAN), (NAN, NAN), (NAN, INF), (1.0, 1.0))
    nothing = "An empty tensor goes in, an empty tensor of the same shape comes out."
    half = "All values of the format, NaN among them. A pattern of 16 bits is an int16."
    return (
        case(
            "ordinary values",
            "x.view(torch.int32) reads the same bits as an integer. Count there; the distance has no sign.",
            near(1000),
        ),
        case(AGAIN, KEEP_NOTHING, near(1000)),
        case(
            "equal numbers",
            "A number is 0 steps from itself.",
            actual=draw.normal(50),
            expected=draw.by(lambda actual: actual),
        ),
        case(
            "on both sides of a power of two",
            "The gap between neighbours doubles there: what lies between is counted in two sizes.",
            listed(*powers),
        ),
        case(
            "on both sides of zero",
            "Pairs across zero. The sign is one bit: -1 and 1 differ in it alone. -0 and 0 are 0 apart.",
            listed(*zero),
        ),
        case("the ends of the line", "From -infinity to infinity is more than an int32 can hold.", listed(*far)),
        case("NaN", "NaN is near nothing: the largest int64, so that no tolerance admits it.", listed(*none)),
        case("every float16 value", half, all_of(torch.float16)),
        case("every bfloat16 value", half, all_of(torch.bfloat16)),
        case("no dimensions", "x.shape may be ().", near()),
        case("no elements", nothing, near(0)),
        case("no rows", nothing, near(0, 3)),
        case("no columns", nothing, near(3, 0)),
        case(
            "transposed",
            "A transposed matrix: neighbours in a row are not neighbours in memory.",
            near(37, 53).each(draw.same.view(torch.t), "actual", "expected"),
        ),
        case(
            "every second column",
            "The stride of the last dimension is 2.",
            near(11, 202).each(draw.same.view(lambda t: t[:, ::2]), "actual", "expected"),
        ),
    )


def scaled() -> tuple[Case, ...]:
    """a, x, y for a function of a number and two tensors of one shape."""

    def times(a: float) -> dict[str, Case]:
        family = elementwise(("x", "y"), "x", lambda: torch.zeros(1), arguments=lambda generator, *xy: (a, *xy))
        return {case.name: replace(case, swept="") for case in family}

    first, *others = GENERAL
    usual = times(-0.7)
    zero = replace(times(0.0)["one block"], name="a is 0", hint="0 · x + y is y.", subject="range")
    return (times(2.5)[first], *(usual[name] for name in others), zero)


def rows() -> tuple[Case, ...]:
    """Matrices whose rows are to be summed."""
    block = "A row longer than one block: loop over blocks, add all of them up, and mask the last one."
    narrow = (
        "A 16-bit accumulator stops growing where 1 is less than half a step. Accumulate in float32, over all blocks."
    )
    return (
        case(
            "ordinary values",
            "Begin here: one program sums one row. " + STEP_BY_STEP,
            x=draw.normal(37, 100).scale(3.0),
        ),
        case(AGAIN, KEEP_NOTHING, x=draw.normal(37, 100).scale(3.0)),
        case("longer than a block", block, x=draw.normal(3, 8193).scale(3.0)),
        case("a long row", block, x=draw.normal(2, 70001).scale(3.0)),
        case("ones in bfloat16", narrow, x=draw.full(2, 5120, value=1.0).to(torch.bfloat16)),
        case("many ones", narrow, x=draw.full(1, 600_001, value=1.0).to(torch.bfloat16)),
        case("ones in float16", narrow, x=draw.full(2, 4096, value=1.0).to(torch.float16)),
        case(
            "beyond float16 on the way",
            "The sum fits into float16, the partial sums do not.",
            x=draw.normal(3, 700)
            .scale(30.0)
            .plus(500.0)
            .map(lambda up: torch.cat([up, -up[:, 1:]], 1))
            .to(torch.float16),
        ),
        case(
            "bfloat16",
            "Convert what you load; round once, at the store.",
            x=draw.normal(11, 777).scale(3.0).to(torch.bfloat16),
        ),
        case("one row", "M may be 1.", x=draw.normal(1, 300).scale(3.0)),
        case("one column", "N may be 1: most of the block is masked off.", x=draw.normal(300, 1).scale(3.0)),
        case("no rows", "An empty tensor comes out; there is nothing to launch.", x=draw.normal(0, 7).scale(3.0)),
        case("no columns", "The sum of nothing is 0, and the kernel has to store it.", x=draw.normal(4, 0).scale(3.0)),
        case(
            "transposed",
            "A transposed matrix: neighbours in a row are not neighbours in memory.",
            x=draw.normal(53, 37).scale(3.0).view(torch.t),
        ),
        case(
            "every second column",
            "The stride of the last dimension is 2: element j of a row is 2 j after its start.",
            x=draw.normal(11, 202).scale(3.0).view(lambda t: t[:, ::2]),
        ),
        case(
            "longer than a block, transposed",
            "Transposed, and longer than a block: do the strides count in every block, not in the first alone?",
            x=draw.normal(3, 8193).scale(3.0).transposed(),
        ),
        case("rows with gaps", "Rows of 127, 160 apart in memory.", x=draw.normal(9, 127).scale(3.0).with_gaps()),
        case(BEYOND, BEYOND_HINT, x=draw.normal(3, 70).scale(3.0).to(torch.float16).far_apart()),
        case(
            "infinity and NaN",
            "NaN in gives NaN out; ∞ stays ∞, and ∞ - ∞ is NaN. A plain sum does all of this by itself.",
            x=draw.full(5, 40, value=1.0).put((INF, INF, -INF, NAN, -INF), [0, 1, 1, 2, 3], [3, 3, 30, 39, 0]),
        ),
    )
