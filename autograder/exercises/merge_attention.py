"""Two pieces of attention made into one. Case: which logarithm, flashinfer#2113, vllm#28840, sglang#33064, #40903."""

from dataclasses import replace

import torch
from torch import Generator, Tensor

from ...kernels.wild import attention as wild
from ..judge import Arguments, Case, CommonMistake, Exercise, Floors, Output, Tolerance, WildBug, Witness, case, draw
from ..runner import Args
from .attention import FORMULA, attention_forward
from .cases.attention import side_by_side
from .cases.elementwise import normal
from .cases.rounding import EPS, floors
from .cases.suspect import too_many_scores
from .cases.wording import AGAIN, KEEP_NOTHING, NAN_IN
from .oracles.attention import attention


def merged(o_a: Tensor, lse_a: Tensor, o_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    """(o, lse) of both pieces together; of two empty pieces 0 and -inf."""
    lse = torch.logaddexp(lse_a.double(), lse_b.double())
    shift = lse.masked_fill(lse == -torch.inf, 0)
    a, b = ((x.double() - shift).exp().unsqueeze(-1) for x in (lse_a, lse_b))
    return a * o_a.double() + b * o_b.double(), lse


def floor(o_a: Tensor, lse_a: Tensor, o_b: Tensor, lse_b: Tensor) -> Floors:
    """e^(lse_a - lse) is as good as lse is, a float32 that may be large; o_a - s(lse_b - lse_a) (o_a - o_b) rounds as
    both o are large.
    """
    o, lse = merged(o_a, lse_a, o_b, lse_b)
    shift = lse.masked_fill(lse == -torch.inf, 0)
    size = sum((x.double() - shift).exp().unsqueeze(-1) * y.double().abs() for x, y in ((lse_a, o_a), (lse_b, o_b)))
    largest = torch.maximum(*(x.double().masked_fill(x == -torch.inf, 0).abs() for x in (lse_a, lse_b)))
    difference = 3 * EPS * torch.maximum(o_a.double().abs(), o_b.double().abs())
    return floors(EPS * (4 * largest + 8).unsqueeze(-1) * size + difference + 1e-40, EPS * (largest + 4))


NONE = -torch.inf
ALL, ODD = slice(None), slice(1, None, 2)


def pieces(b: int = 2, h: int = 3, m: int = 5, d: int = 16) -> Arguments:
    """Two pieces whose lse are near 3."""
    lse = draw.normal(b, h, m).scale(2.0).plus(3)
    return Arguments.named(o_a=draw.normal(b, h, m, d), o_b=draw.normal(b, h, m, d), lse_a=lse, lse_b=lse)


def outweighed(m: int = 5, d: int = 16) -> Arguments:
    """Two pieces of which one weighs e^40 times the other, row by row: the logarithms may have any base."""
    return pieces(m=m, d=d).but(lse_b=draw.normal(2, 3, m).map(lambda x: 40 * x.sign()).plus("lse_a"))


def weighing(lse_a: float, lse_b: float) -> Arguments:
    """Two pieces with these lse, whose o is 0 where that is -inf."""
    weighed = pieces().but(lse_a=draw.same.put(lse_a, ALL), lse_b=draw.same.put(lse_b, ALL))
    return weighed.each(draw.same.put(0.0, ALL), *(o for o, lse in (("o_a", lse_a), ("o_b", lse_b)) if lse == NONE))


def of_attention(generator: Generator) -> Args:
    """Attention over 40 keys in two pieces of 13 and 27, as a split over the keys computes them."""
    q, k, v = (normal(generator, (2, 2, n, 16), scale=1.5) for n in (6, 40, 40))
    pieces = [attention(q, k[:, :, keys], v[:, :, keys]) for keys in (slice(0, 13), slice(13, 40))]
    return tuple(x.float() for piece in pieces for x in piece)


EMPTY = "A piece without a key has lse = -inf and o = 0: it weighs nothing."
NATURAL = "Both lse are natural logarithms: the weight of a piece is e^(lse - the merged lse)."
LARGE = "e^lse overflows from 88.7 on: subtract the larger lse from both."

CASES = (
    case(
        "ordinary values",
        "Begin here: in each row one of the two pieces outweighs the other by e^40, and the result is that piece.",
        outweighed(),
    ),
    case(AGAIN, KEEP_NOTHING, outweighed()),
    case("lse near 3", NATURAL, pieces()),
    case("Z = 2 and 8", NATURAL + " Here 1/5 and 4/5.", weighing(0.6931472, 2.0794415)),
    Case("two pieces of one attention", of_attention, NATURAL),
    case("equal lse", "Equal pieces weigh 1/2 each, in any base.", weighing(1.5, 1.5)),
    case("a is empty", EMPTY, weighing(NONE, 2.0)),
    case("b is empty", EMPTY, weighing(-3.0, NONE)),
    case("both are empty", EMPTY + " Two such pieces merge to o = 0 and lse = -inf.", weighing(NONE, NONE)),
    case(
        "some rows empty",
        EMPTY,
        pieces(m=8),
        o_a=draw.same.put(0.0, ALL, ALL, [0, 2, 7]),
        lse_a=draw.same.put(NONE, ALL, ALL, [0, 2, 7]),
        o_b=draw.same.put(0.0, ALL, ALL, [1, 2]),
        lse_b=draw.same.put(NONE, ALL, ALL, [1, 2]),
    ),
    case(
        "100 apart",
        "e^-100 is 0 in float32, and the result is the larger piece: a in rows 0, 2 and 4, b in rows 1 and 3.",
        weighing(52.5, -47.5),
        lse_a=draw.same.put(-47.5, ..., ODD),
        lse_b=draw.same.put(52.5, ..., ODD),
    ),
    case("20 apart", "The smaller piece still moves lse by e^-20, if lse is small.", weighing(-4.0, 16.0)),
    case("lse of 3000", LARGE, weighing(3000.0, 2999.0)),
    case(
        "lse of -60000",
        "lse near -60000: subtract the larger from both; what stands for -inf must be below them.",
        weighing(-6e4, -60001.0),
    ),
    case(
        "one row, one feature",
        "One row of one feature, and the result is a.",
        pieces(b=1, h=1, m=1, d=1),
        o_a=draw.same.put(1.5, ALL),
        lse_a=draw.same.put(45.5, ALL),
        o_b=draw.same.put(-2.25, ALL),
        lse_b=draw.same.put(1.25, ALL),
    ),
    case("100 features", "100 features leave 28 lanes of a block of 128 empty.", outweighed(d=100)),
    case("many rows", "1,806 rows of 6 features: is every one computed?", outweighed(m=301, d=6)),
    case("no rows", "No queries: nothing to merge.", pieces(m=0)),
    case(
        "heads side by side",
        "The rows of one head are not neighbours in memory, in o or in lse: use the strides.",
        pieces().each(draw.same.view(side_by_side), "o_a", "lse_a", "o_b", "lse_b"),
    ),
    case(
        "strides of their own",
        "o_a is every second feature of a wider tensor, o_b has its heads side by side, lse_a is transposed, and "
        "lse_b is one number a head, at stride 0: each of the four has strides of its own.",
        pieces(),
        o_a=draw.same.every_second(),
        lse_a=draw.same.transposed(),
        o_b=draw.same.view(side_by_side),
        lse_b=draw.same.view(lambda lse: lse[..., :1].expand(lse.shape)),
    ),
    case(
        "float16",
        "lse is float32 and o is float16: multiply in float32, and round once.",
        pieces(),
        o_a=draw.same.to(torch.float16),
        o_b=draw.same.to(torch.float16),
    ),
    case(
        "bfloat16",
        "lse is float32 and o is bfloat16: multiply in float32, and round once.",
        pieces(),
        o_a=draw.same.to(torch.bfloat16),
        o_b=draw.same.to(torch.bfloat16),
    ),
    case(
        "float16 with a float32 piece",
        "o has the dtype of o_a.",
        pieces(),
        o_a=draw.same.to(torch.float16),
        o_b=draw.same.to(torch.float32),
    ),
    case(
        "NaN in one row",
        "NaN in gives NaN out, in its own row.",
        pieces(),
        o_a=draw.same.put(torch.nan, 0, 1, 2, 3),
        o_b=draw.same.put(torch.nan, 1, 1, 3),
        lse_b=draw.same.put(torch.nan, 1, 1, 3),
    ),
    case("NaN in lse_a", NAN_IN.format("lse_a"), pieces(), lse_a=draw.same.put(torch.nan, 1, 2, 0)),
)

BASE_2 = WildBug(
    who="flashinfer, vLLM and sglang in turn",
    thread="flashinfer-ai/flashinfer#2113, vllm-project/vllm#28840, sgl-project/sglang#33064",
    function=wild.merge_attention_base_2,
    seen_by="Z = 2 and 8",
    story="One kernel wrote natural logarithms and the next one read them as base 2: the weights are 2^lse.",
)
LOG2 = WildBug(
    who="sglang, the other way round",
    thread="sgl-project/sglang#40903",
    function=wild.merge_attention_log2_as_natural,
    seen_by="Z = 2 and 8",
    story="Natural logarithms were multiplied by log2 e as if e had still to be made of them.",
)
OVERFLOW = CommonMistake(
    who="the formula with nothing subtracted",
    function=wild.merge_attention_formula,
    seen_by="both are empty",
    story="e^lse is infinite from 88.7 on, and two empty pieces are 0 / 0.",
)

merge_attention = Exercise(
    name="merge_attention",
    summary="o = o_a · e^(lse_a - lse) + o_b · e^(lse_b - lse), lse = log(e^lse_a + e^lse_b), natural logarithms",
    oracle=merged,
    outputs=(Output("o", "o_a"), Output("lse", torch.float32)),
    cases=CASES,
    tolerance=Tolerance(
        1,
        8,
        "A weight is e to a difference of two float32 numbers, as good as they are large; and a float32 difference of "
        "two o is as good as these are large.",
        floor,
    ),
    hint="Each o is already divided by its own sum, e^lse: multiply that back in, add, and divide by the sum of both.",
    wild=(BASE_2, LOG2, OVERFLOW),
    points=4,
    least_bytes=lambda o_a, lse_a, o_b, lse_b: (
        (2 * o_a.element_size() + o_b.element_size()) * o_a.numel() + 12 * lse_a.numel()
    ),
    traffic=1.05,
    about=(
        *("lse near 3", "Z = 2 and 8", "two pieces of one attention", "equal lse", "20 apart", "lse of 3000"),
        *("lse of -60000", "some rows empty", "both are empty"),
    ),
)

OBVIOUS = "A witness should convict at a glance: more than 1 %."

merge_witness = Witness(
    name="merge_witness",
    summary="(o_a, lse_a, o_b, lse_b) on which reading the natural logarithms as base 2 is off by more than 1 %",
    exercise=replace(
        merge_attention,
        tolerance=Tolerance(
            8,
            2.0**17,
            OBVIOUS,
            lambda o_a, lse_a, o_b, lse_b: floors(
                0.01 * torch.maximum(o_a.abs(), o_b.abs()).amax(-1, keepdim=True).expand_as(o_a), torch.inf
            ),
        ),
    ),
    bug=BASE_2,
    asked="1 % of the largest element of both pieces",
    hint="In which case do two pieces weigh the same in any base? Make yours differ.",
    complaint=lambda o_a, lse_a, o_b, lse_b: (
        ""
        if o_a.dim() == 4
        and o_a.shape == o_b.shape
        and o_a.dtype == o_b.dtype
        and lse_a.shape == lse_b.shape == o_a.shape[:3]
        and lse_a.dtype == lse_b.dtype == torch.float32
        else "o_a and o_b are (B, H, M, D) of one dtype, lse_a and lse_b are (B, H, M) float32."
    ),
)


def _no_attention(
    q: Tensor, k: Tensor, v: Tensor, key_lengths: Tensor | None = None, causal: bool = False, scale: float | None = None
) -> str:
    """Returns why attention does not accept these arguments; "" if it does."""
    shapes = q.dim() == k.dim() == 4 and k.shape == v.shape and q.shape[:2] == k.shape[:2] and q.shape[3] == k.shape[3]
    if not shapes or len({q.dtype, k.dtype, v.dtype}) > 1:
        return "q is (B, H, M, D), k and v are (B, H, N, D), all of one dtype."
    if key_lengths is not None and not (
        isinstance(key_lengths, Tensor) and key_lengths.dtype == torch.int64 and key_lengths.shape == q.shape[:1]
    ):
        return "key_lengths is None or (B,) int64."
    if key_lengths is not None and not ((key_lengths >= 0) & (key_lengths <= k.shape[2])).all():
        return "key_lengths lie between 0 and N."
    return too_many_scores(q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2])


attention_witness = Witness(
    name="attention_witness",
    summary="(q, k, v, key_lengths, causal) on which the formula, softmax(q kᵀ + mask) v, gives NaN",
    exercise=attention_forward,
    bug=FORMULA,
    hint="When has a query no key at all? A length can do it, and so can causality.",
    complaint=_no_attention,
)
