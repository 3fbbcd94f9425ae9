"""A token drawn by the Gumbel-max trick. Case: u = 1 in sglang's sampler, sgl-project/sglang#25106 and #33423."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ...kernels.wild import gumbel_argmax as wild
from ..judge import Arguments, CommonMistake, Exercise, Output, Values, WildBug, Witness, case, draw
from .cases.wording import AGAIN, BEYOND, BEYOND_HINT, KEEP_NOTHING, STEP_BY_STEP

INF = float("inf")
GRID = 2.0**-32
CLEAR = 0.05  # by which the chosen class is ahead: what float32 rounds does not decide


def scores(logits: Tensor, u: Tensor) -> Tensor:
    """z - log(-log u) in float64, with u and -log u at least 2^-32."""
    return logits.double() - (-u.double().clamp(min=GRID).log()).clamp(min=GRID).log()


def argmax(logits: Tensor, u: Tensor) -> Tensor:
    """The first of the largest; -1 where all are -inf."""
    score = scores(logits, u)
    columns = torch.arange(score.shape[1])
    first = columns.where(score == score.amax(1, keepdim=True), score.shape[1]).amin(1)
    return first.masked_fill(score.amax(1) == -INF, -1)


def clear(logits: Tensor, u: Tensor) -> Tensor:
    """logits with half a unit more for the class that is chosen where another is close behind."""
    if logits.shape[1] == 1 or not len(logits):
        return logits
    first, second = scores(logits, u).topk(2, 1).values.unbind(1)
    close = first - second < CLEAR + 2.0**-18 * first.abs().nan_to_num()
    rows = torch.arange(len(logits))[close]
    more = 0.5 + logits[rows].abs().nan_to_num(0, 0, 0).amax(1) * 2.0**-6
    return logits.index_put((rows, argmax(logits, u)[close]), more, accumulate=True)


def rows(m: int, v: int, *, scale: float = 3.0, shift: float = 0.0, dtype: torch.dtype = torch.float32) -> Arguments:
    """Logits around ``shift``, and u from 2^-24 on."""
    logits = draw.normal(m, v).scale(scale).plus(shift).to(dtype)
    return Arguments.named(logits=logits, u=draw.uniform(m, v).clamp(2.0**-24, 1.0))


def clearly(m: int, v: int, *, scale: float = 3.0, shift: float = 0.0) -> Arguments:
    """The same, and no class is close behind the one that is chosen."""
    return rows(m, v, scale=scale, shift=shift).but(logits=draw.by(clear))


LogitChange = Callable[[Tensor, Tensor], None]  # of logits and u, in place


def behind(*steps: float, noise: float) -> LogitChange:
    """In row i a class that is ahead of all others by steps[i], without its own noise, which is that of this u."""

    def change(logits: Tensor, u: Tensor) -> None:
        for row, step in enumerate(steps):
            column = 3 + 5 * row
            logits[row, column], u[row, column] = -INF, 0.5
            best = scores(logits[row : row + 1], u[row : row + 1]).max()
            logits[row, column], u[row, column] = best + step, noise

    return change


def masked(logits: Tensor, u: Tensor) -> None:
    """Two classes of five cannot be, and have the largest u."""
    hidden = torch.arange(logits.numel()).view(logits.shape) % 5 < 2
    logits[hidden] = -INF
    u[hidden] = 1 - u[hidden] / 64


def masked_with_one(logits: Tensor, u: Tensor) -> None:
    """A class of each row that cannot be, and has a u of 1; in row 3 three of them."""
    columns = torch.tensor([0, 5, 29, 8])
    logits[range(4), columns], u[range(4), columns] = -INF, 1.0
    logits[3, 20:22], u[3, 20:22] = -INF, 1.0


def one_possible(logits: Tensor, u: Tensor) -> None:
    """One class of each row is possible, the last, one in the middle and the first; its u is 0."""
    logits[:], u[:, ::2] = -INF, 1.0
    columns = torch.tensor([logits.shape[1] - 1, 7, 0])
    logits[range(3), columns], u[range(3), columns] = torch.tensor([-5.0, 0.0, 3.0]), 0.0


def smallest(logits: Tensor, u: Tensor) -> None:
    """The smallest float32 in place of -inf, for three classes of five, and in row 2 for all of them."""
    logits[torch.arange(logits.numel()).view(logits.shape) % 5 < 3] = torch.finfo(torch.float32).min
    logits[2] = torch.finfo(torch.float32).min
    logits[[0, 1, 3], [14, 3, 4]] = 9.0


def equal_pairs(logits: Tensor, u: Tensor) -> None:
    """The largest of each row stands there two or three times."""
    last = logits.shape[1] - 1
    for row, columns in enumerate(((3, 4), (0, last), (last - 1, last), (7, last // 2, last), (0, 1))):
        logits[row, list(columns)], u[row, list(columns)] = 40.0, 0.875


def close(step: float) -> LogitChange:
    """Two classes of each row are ahead of all others, with one logit; the second has more noise, by ``step``."""

    def change(logits: Tensor, u: Tensor) -> None:
        rows, columns = torch.arange(len(logits)), torch.arange(len(logits)) % (logits.shape[1] - 9)
        for later, noise in ((0, 3.0), (8, 3.0 + step)):
            logits[rows, columns + later], u[rows, columns + later] = 40.0, math.exp(-math.exp(-noise))

    return change


def at(column: int) -> Values:
    """Logits of which that of this class is chosen."""
    return draw.same.put(30.0, slice(None), column)


def small(logits: Tensor, u: Tensor) -> None:
    """u of 1e-12 to 1e-40 for the class that is ahead by 3.5 or by 2.7."""
    behind(3.5, 2.7, 3.5, 2.7, noise=1e-12)(logits, u)
    u[1, 8], u[2, 13], u[3, 18] = 1e-20, 1e-38, 1e-40


ENDS = "The noise of u = 1 is that of the number next to it: -log u is at least 2^-32, and the noise at most 22.2."
BF16, F16 = torch.bfloat16, torch.float16

CASES = (
    case("ordinary values", "Begin here: 7 rows of 50 classes. " + STEP_BY_STEP, clearly(7, 50)),
    case(AGAIN, KEEP_NOTHING, clearly(7, 50)),
    case(
        "u = 1",
        "One class of each row has u = 1, and is 100, 40, 22.7, 21.7 and 10 behind the best. -log(1) is 0, and its "
        "logarithm infinite. " + ENDS,
        rows(5, 40).change(behind(-100.0, -40.0, -22.7, -21.7, -10.0, noise=1.0)),
    ),
    case(
        "u = 0",
        "One class of each row has u = 0, and without its noise it is 50, 3.5, 2.7, 4 and -1 ahead of the best. "
        "-log(0) is infinite, and the noise -inf. u counts as at least 2^-32, and its noise is -3.1.",
        rows(5, 40).change(behind(50.0, 3.5, 2.7, 4.0, -1.0, noise=0.0)),
    ),
    case(
        "u = 1 and a logit of -inf",
        "A class that cannot be, because a mask says so, has u = 1. -inf + inf is NaN, which argmax takes for the "
        "largest. " + ENDS,
        rows(4, 30).change(masked_with_one),
    ),
    case(
        "masked classes", "Two classes of five have a logit of -inf: they are never chosen.", rows(6, 45).change(masked)
    ),
    case(
        "one possible class, u = 0",
        "One class of each row is possible, and its u is 0: it is chosen all the same. Is -inf more than -inf?",
        rows(3, 30).change(one_possible),
    ),
    case(
        "a row of -inf",
        "No class of rows 1 and 3 can be: the result is -1, not a class.",
        rows(4, 25),
        logits=draw.same.put(-INF, [1, 3]),
        u=draw.same.put((1.0, 0.0), 3, [4, 5]),
        convention="empty row",
    ),
    case(
        "the smallest float as a mask",
        "-3.4e38 stands where -inf might, as in many masks. It is a number: in row 2 all logits are it, and the first "
        "class is chosen.",
        rows(4, 30).change(smallest),
    ),
    case(
        "equal scores",
        "The largest score stands there several times: the first of them.",
        rows(5, 60).change(equal_pairs),
    ),
    case(
        "equal scores, far apart",
        "The largest score stands there several times, in several blocks: the first of them. Is a later block's taken "
        "only where it is larger?",
        rows(5, 20_011).change(equal_pairs),
    ),
    case(
        "all equal",
        "All scores are one number: the first class.",
        logits=draw.full(3, 70, value=-1.5),
        u=draw.full(3, 70, value=0.25),
    ),
    case(
        "u from 1e-12 to 1e-40",
        "u below 2^-32 counts as 2^-32: its noise is -3.1. Random numbers of 32 bits have none below it.",
        rows(4, 40).change(small),
    ),
    case(
        "logits of thousands",
        "Logits of thousands: the noise decides nothing, and nothing overflows.",
        clearly(6, 40, scale=3e3),
    ),
    case("logits around -9000", "Logits around -9000 are as good as others.", clearly(6, 40, shift=-9e3)),
    case("1 class", "One class: it is chosen.", clearly(6, 1)),
    case("3 classes", "Rows of 3 in a block of 4: the fourth lane is no class.", clearly(60, 3)),
    case("17 classes", "Rows of 17 in a block of 32: the other lanes are no classes.", clearly(40, 17, shift=-50.0)),
    case("1000 classes", "1000 classes leave 24 lanes of a block of 1024 empty.", clearly(5, 1000, shift=-50.0)),
    case("8193 classes", "One class more than 8192, and it is the one. Is it read?", rows(3, 8193), logits=at(8192)),
    case("the first class", "The first of 8193 classes is chosen.", rows(4, 8193), logits=at(0)),
    case(
        "as many classes as a vocabulary has",
        "128,256 classes, many blocks: is the index that of the row, not that of its block?",
        clearly(2, 128_256),
    ),
    case("300 rows", "300 rows: does every one find a program?", clearly(300, 12)),
    case("one row", "One row is a matrix like any other.", clearly(1, 100)),
    case("no rows", "No rows go in, no indices come out.", clearly(0, 20)),
    case(
        "float16",
        "Two classes are ahead, and the noise of one is larger by 0.006. Convert logits to float32 before you add: "
        "at 43 float16 has steps of 0.03.",
        rows(60, 100, dtype=F16).change(close(0.006)),
    ),
    case(
        "bfloat16",
        "Two classes are ahead, and the noise of one is larger by 0.06. Convert logits to float32 before you add: "
        "at 43 bfloat16 has steps of 0.25.",
        rows(60, 100, dtype=BF16).change(close(0.06)),
    ),
    case(
        "transposed",
        "Both are transposed: a row is not contiguous in memory.",
        clearly(37, 23).each(draw.same.transposed(), "logits", "u"),
    ),
    case(
        "strides of their own",
        "logits have gaps between their rows, and u has a stride of 2: each of the two has strides of its own.",
        clearly(19, 27),
        logits=draw.same.with_gaps(),
        u=draw.same.every_second(),
    ),
    case(
        "many samples of one row",
        "One row of logits for all samples: logits.stride() is (0, 1).",
        rows(50, 33),
        logits=at(11).one_row(),
    ),
    case(BEYOND, BEYOND_HINT, rows(3, 40, dtype=F16), logits=at(7).far_apart()),
)


SGLANG = WildBug(
    who="sglang 0.5.10 to 0.5.17",
    thread="sgl-project/sglang#25106, #33423",
    function=wild.sglang,
    seen_by="u = 1",
    story="-log(-log 1) is infinite: a hash of 32 ones chose its token whatever the logit, masked tokens included.",
    variants=(wild.sglang_or_none,),
)
TINY = CommonMistake(
    who="-log u clamped at the smallest float",
    function=wild.clamped_at_tiny,
    seen_by="u = 1",
    story="The noise is 87 where u = 1, and nowhere else above 16.7: the class is chosen as surely as before.",
)
ROUNDED = CommonMistake(
    who="noise in the dtype of the logits",
    function=wild.in_the_dtype_of_logits,
    seen_by="bfloat16",
    story="Rounded to 8 bits many scores are equal, and the first of them is chosen too often.",
)

gumbel_argmax = Exercise(
    name="gumbel_argmax",
    summary="the first class in each row with the largest logit - log(-log u), u and -log u at least 2^-32; none: -1",
    oracle=argmax,
    outputs=(Output("index", torch.int64),),
    cases=CASES,
    hint="A score for each class, in float32; then the first of the largest. What does each logarithm give at its end?",
    refused=frozenset({"multinomial", "exponential"}),
    wild=(SGLANG, TINY, ROUNDED),
    points=3,
    least_bytes=lambda logits, u: u.numel() * (logits.element_size() + 4) + 8 * len(u),
    traffic=1.05,
    about=(
        *("u = 1", "u = 0", "u from 1e-12 to 1e-40", "u = 1 and a logit of -inf", "one possible class, u = 0"),
        "equal scores",
    ),
)


def _complaint(logits: Tensor, u: Tensor) -> str:
    """Returns what is wrong with an input that is to show the bug."""
    if logits.dim() != 2 or not logits.numel() or logits.shape != u.shape or u.dtype != torch.float32:
        return "logits and u are matrices (M, V) of one shape, and u is float32."
    if not logits.isfinite().all():
        return "logits are finite here: that a class which cannot be is chosen is another input."
    if not bool(((u >= 0) & (u <= 1)).all()):
        return "u is from 0 to 1."
    return ""


gumbel_witness = Witness(
    name="gumbel_witness",
    summary="(logits, u) on which the sampler of sglang chooses a wrong class",
    exercise=gumbel_argmax,
    bug=SGLANG,
    asked="0: a wrong class",
    hint="Which u makes the noise infinite, and which class has to have it?",
    complaint=_complaint,
    points=1,
)
