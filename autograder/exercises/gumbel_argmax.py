"""A token drawn by the Gumbel-max trick. Case: u = 1 in sglang's sampler, sgl-project/sglang#25106 and #33423."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from ...kernels.wild import gumbel_argmax as wild
from ..run.contract import Args
from ..run.huge_strides import far_apart
from .cases.common import AGAIN, KEEP_NOTHING, STEP_BY_STEP, View, as_it_is, every_second, transposed, with_gaps
from .cases.elementwise import BEYOND, BEYOND_HINT, normal
from .record import Case, CommonMistake, Convention, Exercise, Output, WildBug, Witness

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


def clear(logits: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    """The same, with half a unit more for the class that is chosen where another is close behind."""
    if logits.shape[1] > 1 and len(logits):
        first, second = scores(logits, u).topk(2, 1).values.unbind(1)
        close = first - second < CLEAR + 2.0**-18 * first.abs().nan_to_num()
        rows = torch.arange(len(logits))[close]
        logits[rows, argmax(logits, u)[close]] += 0.5 + logits[rows].abs().nan_to_num(0, 0, 0).amax(1) * 2.0**-6
    return logits, u


Change = Callable[[Tensor, Tensor], object]  # of logits and u, in place


def nothing(logits: Tensor, u: Tensor) -> None:
    """Changes nothing."""


def behind(*steps: float, u: float) -> Change:
    """In row i a class that is ahead of all others by steps[i], without its own noise, and has this u."""

    def change(logits: Tensor, given: Tensor) -> None:
        for row, step in enumerate(steps):
            column = 3 + 5 * row
            logits[row, column], given[row, column] = -INF, 0.5
            best = scores(logits[row : row + 1], given[row : row + 1]).max()
            logits[row, column], given[row, column] = best + step, u

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


def row_of_nothing(logits: Tensor, u: Tensor) -> None:
    """Rows 1 and 3 are -inf alone, and u is anything, both ends among it."""
    logits[1], logits[3], u[3, 4], u[3, 5] = -INF, -INF, 1.0, 0.0


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


def all_equal(logits: Tensor, u: Tensor) -> None:
    """One number in each of the two."""
    logits[:], u[:] = -1.5, 0.25


def close(step: float) -> Change:
    """Two classes of each row are ahead of all others, with one logit; the second has more noise, by ``step``."""

    def change(logits: Tensor, u: Tensor) -> None:
        rows, columns = torch.arange(len(logits)), torch.arange(len(logits)) % (logits.shape[1] - 9)
        for later, noise in ((0, 3.0), (8, 3.0 + step)):
            logits[rows, columns + later], u[rows, columns + later] = 40.0, math.exp(-math.exp(-noise))

    return change


def at(column: int) -> Change:
    """The class that is chosen is this one."""

    def change(logits: Tensor, u: Tensor) -> None:
        logits[:, column] = 30.0

    return change


def small(logits: Tensor, u: Tensor) -> None:
    """u of 1e-12 to 1e-40 for the class that is ahead by 3.5 or by 2.7."""
    behind(3.5, 2.7, 3.5, 2.7, u=1e-12)(logits, u)
    u[1, 8], u[2, 13], u[3, 18] = 1e-20, 1e-38, 1e-40


@dataclass(frozen=True)
class Row:
    """One case: logits (M, V) of this scale around ``shift``, u uniform. views: how the two lie in memory."""

    name: str
    shape: tuple[int, int]
    hint: str
    change: Change = nothing
    scale: float = 3.0
    shift: float = 0.0
    dtype: torch.dtype = torch.float32
    views: tuple[View, View] = (as_it_is, as_it_is)
    convention: Convention = ""

    def draw(self, generator: Generator) -> Args:
        """(logits, u)."""
        logits = (normal(generator, self.shape, scale=self.scale) + self.shift).to(self.dtype)
        u = torch.rand(self.shape, generator=generator).clamp(min=2.0**-24)
        self.change(logits, u)
        logits, u = self.views[0](logits), self.views[1](u)
        return clear(logits, u) if self.change is nothing and 0 not in logits.stride() else (logits, u)


def one_row(x: Tensor) -> Tensor:
    """Every row is the first one, at stride 0."""
    return x[:1].expand(x.shape)


ENDS = "The noise of u = 1 is that of the number next to it: -log u is at least 2^-32, and the noise at most 22.2."
BF16, F16 = torch.bfloat16, torch.float16

ROWS = (
    Row("ordinary values", (7, 50), "Begin here: 7 rows of 50 classes. " + STEP_BY_STEP),
    Row(AGAIN, (7, 50), KEEP_NOTHING),
    Row(
        "u = 1",
        (5, 40),
        "One class of each row has u = 1, and is 100, 40, 22.7, 21.7 and 10 behind the best. -log(1) is 0, and its "
        "logarithm infinite. " + ENDS,
        behind(-100.0, -40.0, -22.7, -21.7, -10.0, u=1.0),
    ),
    Row(
        "u = 0",
        (5, 40),
        "One class of each row has u = 0, and without its noise it is 50, 3.5, 2.7, 4 and -1 ahead of the best. "
        "-log(0) is infinite, and the noise -inf. u counts as at least 2^-32, and its noise is -3.1.",
        behind(50.0, 3.5, 2.7, 4.0, -1.0, u=0.0),
    ),
    Row(
        "u = 1 and a logit of -inf",
        (4, 30),
        "A class that cannot be, because a mask says so, has u = 1. -inf + inf is NaN, which argmax takes for the "
        "largest. " + ENDS,
        masked_with_one,
    ),
    Row("masked classes", (6, 45), "Two classes of five have a logit of -inf: they are never chosen.", masked),
    Row(
        "one possible class, u = 0",
        (3, 30),
        "One class of each row is possible, and its u is 0: it is chosen all the same. Is -inf more than -inf?",
        one_possible,
    ),
    Row(
        "a row of -inf",
        (4, 25),
        "No class of rows 1 and 3 can be: the result is -1, not a class.",
        row_of_nothing,
        convention="empty row",
    ),
    Row(
        "the smallest float as a mask",
        (4, 30),
        "-3.4e38 stands where -inf might, as in many masks. It is a number: in row 2 all logits are it, and the first "
        "class is chosen.",
        smallest,
    ),
    Row("equal scores", (5, 60), "The largest score stands there several times: the first of them.", equal_pairs),
    Row(
        "equal scores, far apart",
        (5, 20_011),
        "The largest score stands there several times, in several blocks: the first of them. Is a later block's taken "
        "only where it is larger?",
        equal_pairs,
    ),
    Row("all equal", (3, 70), "All scores are one number: the first class.", all_equal),
    Row(
        "u from 1e-12 to 1e-40",
        (4, 40),
        "u below 2^-32 counts as 2^-32: its noise is -3.1. Random numbers of 32 bits have none below it.",
        small,
    ),
    Row(
        "logits of thousands",
        (6, 40),
        "Logits of thousands: the noise decides nothing, and nothing overflows.",
        scale=3e3,
    ),
    Row("logits around -9000", (6, 40), "Logits around -9000 are as good as others.", shift=-9e3),
    Row("1 class", (6, 1), "One class: it is chosen."),
    Row("3 classes", (60, 3), "Rows of 3 in a block of 4: the fourth lane is no class."),
    Row("17 classes", (40, 17), "Rows of 17 in a block of 32: the other lanes are no classes.", shift=-50.0),
    Row("1000 classes", (5, 1000), "1000 classes leave 24 lanes of a block of 1024 empty.", shift=-50.0),
    Row("8193 classes", (3, 8193), "One class more than 8192, and it is the one. Is it read?", at(8192)),
    Row("the first class", (4, 8193), "The first of 8193 classes is chosen.", at(0)),
    Row(
        "as many classes as a vocabulary has",
        (2, 128_256),
        "128,256 classes, many blocks: is the index that of the row, not that of its block?",
    ),
    Row("300 rows", (300, 12), "300 rows: does every one find a program?"),
    Row("one row", (1, 100), "One row is a matrix like any other."),
    Row("no rows", (0, 20), "No rows go in, no indices come out."),
    Row(
        "float16",
        (60, 100),
        "Two classes are ahead, and the noise of one is larger by 0.006. Convert logits to float32 before you add: "
        "at 43 float16 has steps of 0.03.",
        close(0.006),
        dtype=F16,
    ),
    Row(
        "bfloat16",
        (60, 100),
        "Two classes are ahead, and the noise of one is larger by 0.06. Convert logits to float32 before you add: "
        "at 43 bfloat16 has steps of 0.25.",
        close(0.06),
        dtype=BF16,
    ),
    Row("transposed", (37, 23), "Both are transposed: a row is not contiguous in memory.", views=(transposed,) * 2),
    Row(
        "strides of their own",
        (19, 27),
        "logits have gaps between their rows, and u has a stride of 2: each of the two has strides of its own.",
        views=(with_gaps, every_second),
    ),
    Row(
        "many samples of one row",
        (50, 33),
        "One row of logits for all samples: logits.stride() is (0, 1).",
        at(11),
        views=(one_row, as_it_is),
    ),
    Row(BEYOND, (3, 40), BEYOND_HINT, at(7), dtype=F16, views=(far_apart, as_it_is)),
)


def _case(row: Row) -> Case:
    return Case(row.name, row.draw, row.hint, convention=row.convention)


SGLANG = WildBug(
    who="sglang 0.5.10 to 0.5.17",
    thread="sgl-project/sglang#25106, #33423",
    function=wild.sglang,
    seen_by="u = 1",
    story="-log(-log 1) is infinite: a hash of 32 ones chose its token whatever the logit, masked tokens included.",
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
    cases=tuple(_case(row) for row in ROWS),
    hint="A score for each class, in float32; then the first of the largest. What does each logarithm give at its end?",
    refused=frozenset({"multinomial", "exponential"}),
    wild=(SGLANG, TINY, ROUNDED),
    points=3,
    least_bytes=lambda logits, u: u.numel() * (logits.element_size() + 4) + 8 * len(u),
    traffic=1.05,
    about=("u = 1", "u = 0", "u = 1 and a logit of -inf", "one possible class, u = 0", "equal scores"),
)


def _complaint(logits: Tensor, u: Tensor) -> str:
    """What is wrong with an input that is to show the bug."""
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
    hint="Which u makes the noise infinite, and which class has to have it?",
    complaint=_complaint,
    points=1,
)
