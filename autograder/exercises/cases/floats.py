"""The inputs of the first chapter: pairs of numbers a known way apart, a scalar with tensors, rows to sum."""

from dataclasses import replace

import torch
from torch import Generator, Tensor

from ...judge import (
    AGAIN,
    BEYOND,
    BEYOND_HINT,
    KEEP_NOTHING,
    STEP_BY_STEP,
    Case,
    Inputs,
    View,
    elementwise,
    every_value,
    normal,
    transposed,
    with_gaps,
)
from ...runner import Args, far_apart

INF, NAN = float("inf"), float("nan")
FRACTION = 23  # bits of a float32, below its exponent
GENERAL: tuple[str, ...] = ("ordinary values", AGAIN, "one element", "no dimensions", "no elements", "no rows")
GENERAL += ("no columns", "transposed", "rows with gaps", "x transposed")
GENERAL += ("odd shape, several blocks", "every second column", "every float16 value", "every bfloat16 value")
GENERAL += ("x of stride 0", "infinity and NaN", BEYOND)


def compared() -> tuple[Case, ...]:
    """What came out, what was expected, and a tolerance."""

    def drawn(shape: tuple[int, ...], view: View = lambda t: t) -> Inputs:
        """A third of the elements is off by 2 to 4 tolerances, up or down, the others by half of one at most."""

        def inputs(generator: Generator) -> Args:
            expected, off = normal(generator, shape), torch.rand(shape, generator=generator)
            far, up = torch.rand((2, *shape), generator=generator)
            error = 1e-3 * torch.where(far < 1 / 3, 2 + 2 * off, off / 2) * torch.where(up < 0.5, -1.0, 1.0)
            return view(expected + error), view(expected), 1e-3

        return inputs

    def listed(tolerance: float, *rows: tuple[float, float]) -> Inputs:
        return lambda generator: (*torch.tensor(rows).t().contiguous(), tolerance)

    return (
        Case("ordinary values", drawn((300,)), "Begin here: which elements are right? All others count."),
        Case(AGAIN, drawn((300,)), KEEP_NOTHING),
        Case(
            "NaN",
            listed(0.5, (NAN, 1.0), (1.0, NAN), (NAN, NAN), (1.0, 1.25), (2.0, 1.0)),
            "Every comparison with NaN is false. Count what is not shown to be right.",
        ),
        Case(
            "infinities",
            listed(0.5, (INF, INF), (-INF, -INF), (INF, -INF), (INF, 3e38), (1.0, 1.0)),
            "inf - inf is NaN, and an infinity that was expected is right.",
        ),
        Case(
            "on the tolerance",
            listed(0.5, (1.5, 1.0), (0.5, 1.0), (1.75, 1.0), (-1.5, -1.0), (0.25, 1.0)),
            "Off by exactly the tolerance is within it.",
        ),
        Case("tolerance 0", listed(0.0, (1.0, 1.0), (1.0000001, 1.0), (0.0, -0.0), (-2.0, 2.0)), "Equal is right."),
        Case("no dimensions", drawn(()), "x.shape may be ()."),
        Case("no elements", drawn((0,)), "Of nothing, nothing is wrong: 0."),
        Case("transposed", drawn((37, 53), transposed), "A transposed matrix: any strides will do."),
    )


def pairs() -> tuple[Case, ...]:
    """Two tensors of one shape and dtype, for a function that counts the numbers between them."""

    def near(shape: tuple[int, ...], view: View = lambda t: t) -> Inputs:
        """float32 numbers, and others up to 999 steps away from them, between the same powers of two."""

        def inputs(generator: Generator) -> Args:
            x = normal(generator, shape)
            steps = torch.randint(0, 1000, shape, generator=generator, dtype=torch.int32)
            bits = x.view(torch.int32)
            moved = torch.where((bits + steps) >> FRACTION == bits >> FRACTION, bits + steps, bits)
            return view(moved.view(torch.float32)), view(x)

        return inputs

    def listed(*rows: tuple[float, float], dtype: torch.dtype = torch.float32) -> Inputs:
        return lambda generator: tuple(torch.tensor(rows, dtype=dtype).t().contiguous())

    def all_of(dtype: torch.dtype) -> Inputs:
        def inputs(generator: Generator) -> Args:
            values = every_value(dtype)
            return values, values[torch.randperm(len(values), generator=generator)]

        return inputs

    powers = ((1.0000002, 0.9999999), (2.0000005, 1.9999998), (-0.031251602, -0.031249959), (0.50000006, 0.49999997))
    zero = ((0.0, -0.0), (1e-45, 0.0), (-1e-45, 1e-45), (-1.0, 1.0), (3.0, -2.0), (-1e-40, 1e-38))
    far = ((INF, 3.4028235e38), (-INF, INF), (-3.4028235e38, 3.4028235e38), (INF, INF), (1e-45, 3e38), (-INF, 0.0))
    none = ((NAN, 1.0), (1.0, NAN), (NAN, NAN), (NAN, INF), (1.0, 1.0))
    nothing = "An empty tensor goes in, an empty tensor of the same shape comes out."
    half = "All values of the format, NaN among them. A pattern of 16 bits is an int16."
    return (
        Case(
            "ordinary values",
            near((1000,)),
            "x.view(torch.int32) reads the same bits as an integer. Count there; the distance has no sign.",
        ),
        Case(AGAIN, near((1000,)), KEEP_NOTHING),
        Case("equal numbers", lambda generator: (normal(generator, (50,)),) * 2, "A number is 0 steps from itself."),
        Case(
            "on both sides of a power of two",
            listed(*powers),
            "The gap between neighbours doubles there: what lies between is counted in two sizes.",
        ),
        Case(
            "on both sides of zero",
            listed(*zero),
            "Pairs across zero. The sign is one bit: -1 and 1 differ in it alone. -0 and 0 are 0 apart.",
        ),
        Case("the ends of the line", listed(*far), "From -infinity to infinity is more than an int32 can hold."),
        Case("NaN", listed(*none), "NaN is near nothing: the largest int64, so that no tolerance admits it."),
        Case("every float16 value", all_of(torch.float16), half),
        Case("every bfloat16 value", all_of(torch.bfloat16), half),
        Case("no dimensions", near(()), "x.shape may be ()."),
        Case("no elements", near((0,)), nothing),
        Case("no rows", near((0, 3)), nothing),
        Case("no columns", near((3, 0)), nothing),
        Case(
            "transposed",
            near((37, 53), lambda t: t.t()),
            "A transposed matrix: neighbours in a row are not neighbours in memory.",
        ),
        Case("every second column", near((11, 202), lambda t: t[:, ::2]), "The stride of the last dimension is 2."),
    )


def scaled() -> tuple[Case, ...]:
    """a, x, y for a function of a number and two tensors of one shape."""

    def times(a: float) -> dict[str, Case]:
        family = elementwise(("x", "y"), "x", lambda: torch.zeros(1), arguments=lambda generator, *xy: (a, *xy))
        return {case.name: replace(case, swept="") for case in family}

    first, *others = GENERAL
    usual = times(-0.7)
    zero = replace(times(0.0)[first], name="a is 0", hint="0 · x + y is y.", subject="range")
    return (times(2.5)[first], *(usual[name] for name in others), zero)


def rows() -> tuple[Case, ...]:
    """Matrices whose rows are to be summed."""

    def shaped(*shape: int, dtype: torch.dtype = torch.float32, view: View = lambda t: t) -> Inputs:
        return lambda generator: (view(normal(generator, shape, dtype, 3.0)),)

    def up_and_down(generator: Generator) -> tuple[Tensor]:
        """float16 rows whose sums are small, and whose partial sums pass 65,504 on the way."""
        half = torch.full((3, 700), 500.0) + normal(generator, (3, 700), scale=30.0)
        return (torch.cat([half, -half[:, 1:]], 1).half(),)

    def special(generator: Generator) -> tuple[Tensor]:
        row = torch.ones(5, 40)
        row[0, 3], row[1, 3], row[1, 30], row[2, 39], row[3, 0] = INF, INF, -INF, NAN, -INF
        return (row,)

    block = "A row longer than one block: loop over blocks, add all of them up, and mask the last one."
    narrow = (
        "A 16-bit accumulator stops growing where 1 is less than half a step. Accumulate in float32, over all blocks."
    )
    return (
        Case("ordinary values", shaped(37, 100), "Begin here: one program sums one row. " + STEP_BY_STEP),
        Case(AGAIN, shaped(37, 100), KEEP_NOTHING),
        Case("longer than a block", shaped(3, 8193), block),
        Case("a long row", shaped(2, 70001), block),
        Case("ones in bfloat16", lambda generator: (torch.ones(2, 5120, dtype=torch.bfloat16),), narrow),
        Case("many ones", lambda generator: (torch.ones(1, 600_001, dtype=torch.bfloat16),), narrow),
        Case("ones in float16", lambda generator: (torch.ones(2, 4096, dtype=torch.float16),), narrow),
        Case("beyond float16 on the way", up_and_down, "The sum fits into float16, the partial sums do not."),
        Case("bfloat16", shaped(11, 777, dtype=torch.bfloat16), "Convert what you load; round once, at the store."),
        Case("one row", shaped(1, 300), "M may be 1."),
        Case("one column", shaped(300, 1), "N may be 1: most of the block is masked off."),
        Case("no rows", shaped(0, 7), "An empty tensor comes out; there is nothing to launch."),
        Case("no columns", shaped(4, 0), "The sum of nothing is 0, and the kernel has to store it."),
        Case(
            "transposed",
            shaped(53, 37, view=lambda t: t.t()),
            "A transposed matrix: neighbours in a row are not neighbours in memory.",
        ),
        Case(
            "every second column",
            shaped(11, 202, view=lambda t: t[:, ::2]),
            "The stride of the last dimension is 2: element j of a row is 2 j after its start.",
        ),
        Case(
            "longer than a block, transposed",
            shaped(3, 8193, view=transposed),
            "Transposed, and longer than a block: do the strides count in every block, not in the first alone?",
        ),
        Case("rows with gaps", shaped(9, 127, view=with_gaps), "Rows of 127, 160 apart in memory."),
        Case(BEYOND, shaped(3, 70, dtype=torch.float16, view=far_apart), BEYOND_HINT),
        Case(
            "infinity and NaN",
            special,
            "NaN in gives NaN out; ∞ stays ∞, and ∞ - ∞ is NaN. A plain sum does all of this by itself.",
        ),
    )
