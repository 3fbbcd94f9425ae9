"""Softmax under a mask. Case: a row that may look at nothing, pytorch#41508 and #103963."""

import torch
from torch import Tensor

from ...kernels.wild import attention as wild
from ..judge import Arguments, CommonMistake, Exercise, Floors, Output, Tolerance, WildBug, also, case, draw
from .cases.halves import in_halves
from .cases.rounding import EPS, floors, leaning_walk
from .cases.rows import SPILLED
from .cases.wording import AGAIN, BEYOND, BEYOND_HINT, CONVERT, KEEP_NOTHING, NAN_IN, STEP_BY_STEP

NOTHING = "A row of the mask without a True has no maximum and a sum of 0. Its result is 0, as in PyTorch's attention."


def softmax_under(x: Tensor, mask: Tensor) -> Tensor:
    """The softmax of each row over its elements under the mask, 0 elsewhere; of a row of -inf alone 0."""
    scores = x.masked_fill(~mask, -torch.inf)
    top = scores.amax(1, keepdim=True) if x.shape[1] else x.sum(1, keepdim=True)
    e = (scores - top.masked_fill(top == -torch.inf, 0)).exp()
    total = e.sum(1, keepdim=True)
    return (e / total.masked_fill(total == 0, 1)).masked_fill(~mask, 0)


def softmax_gradient(dy: Tensor, y: Tensor) -> Tensor:
    """Returns dx = y · (dy - Σ y · dy), the sum over each row."""
    return y * (dy - (y * dy).sum(1, keepdim=True))


def forward_floor(x: Tensor, mask: Tensor) -> Floors:
    """e^(x - top) loses |x - top| roundings, and the sum under it as many as its terms do on average and its own."""
    y = softmax_under(x, mask)
    depth = (x.masked_fill(~mask, 0) - x.masked_fill(~mask, -torch.inf).amax(1, keepdim=True)).abs() if x.numel() else x
    depth = depth.nan_to_num(posinf=0)
    return floors(EPS * y * (8 + leaning_walk(x.shape[1]) + depth + (y * depth).nansum(1, keepdim=True)))


def backward_floor(dy: Tensor, y: Tensor) -> Floors:
    """dy - Σ y · dy cancels, and the sum may be taken in any order."""
    inner = (8 + leaning_walk(y.shape[1])) * (y * dy).abs().sum(1, keepdim=True)
    return floors(EPS * y * (4 * dy.abs() + inner))


def rows(m: int, n: int, *, share: float = 0.6, scale: float = 3.0) -> Arguments:
    """A matrix and a mask under which a share of it lies."""
    return Arguments.named(x=draw.normal(m, n).scale(scale), mask=draw.truths(m, n, share=share))


def poisoned(x: Tensor, mask: Tensor) -> None:
    """Says what the mask leaves out is NaN and infinity, in turn."""
    x[~mask] = torch.tensor([torch.nan, torch.inf, -torch.inf]).repeat(x.numel())[: int((~mask).sum())]


def largest_counts(x: Tensor, mask: Tensor) -> None:
    """The largest element of each row is under the mask: where it is not is the next case."""
    x[~mask] = -x[~mask].abs()


def large(x: Tensor, mask: Tensor) -> None:
    """Says what the mask leaves out is larger than all else."""
    x[~mask] = 9e3


FLOAT16 = draw.same.to(torch.float16)
CASES = (
    case("ordinary values", "Begin here: 7 rows of 128, about 77 of each count. " + STEP_BY_STEP, rows(7, 128)),
    case(AGAIN, KEEP_NOTHING, rows(7, 128)),
    case(
        "everything", "Every element of the mask is True: an ordinary softmax, of rows of 100.", rows(5, 100, share=2.0)
    ),
    case("a row of nothing", NOTHING, rows(6, 50), mask=draw.same.put(False, 2)),
    case("nothing at all", NOTHING, rows(4, 33, share=-1.0)),
    case(
        "one element in a row",
        "One element gets all the weight, whatever it is.",
        rows(6, 50),
        mask=draw.same.put(False, 4).put(True, 4, 17),
    ),
    case(
        "the last element alone",
        "Rows of 20,011 values near -60000, several blocks each. In row 1 only the last element counts: its first "
        "blocks have none that does. Where does the maximum start?",
        rows(3, 20_011, share=0.5),
        x=draw.same.plus(-6e4),
        mask=draw.same.put(False, 1).put(True, 1, -1),
    ),
    case(
        "the first element alone",
        "Rows of 20,011, several blocks each. In row 1 only the first element counts, and in row 0 the last 15,000 are "
        "200 lower: can the maximum of a block be below that of the one before?",
        rows(3, 20_011, share=0.5),
        x=draw.same.change(lambda x: x[0, 5011:].sub_(200)),
        mask=draw.same.put(False, 1).put(True, 1, 0),
    ),
    case(
        "NaN and infinity under no mask",
        "Outside of the mask are NaN and infinity: they must reach neither the maximum, nor the sum, nor a "
        "product with 0.",
        rows(6, 90).change(poisoned),
    ),
    case(
        "rows of -inf",
        "A -inf that counts has weight 0, and a row of -inf alone gives 0. -inf - -inf and 0 / 0 would be NaN.",
        rows(6, 64),
        x=draw.same.put(-torch.inf, 1).put(-torch.inf, 3, slice(None, None, 2)),
    ),
    case(
        "NaN in one row",
        "A NaN that counts: its row is NaN where the mask is True. What is masked off is 0, whatever else "
        "the row holds. (In Triton, tl.max drops NaN.)",
        rows(6, 64),
        x=draw.same.put(torch.nan, 2, 7),
        mask=draw.same.put(True, 2, 7),
    ),
    case(
        "large values",
        "e^x overflows from 88.7 on: subtract the largest element that counts.",
        rows(6, 64, scale=4e3).change(largest_counts),
    ),
    case(
        "large values under no mask",
        "The largest element of a row may be outside of the mask.",
        rows(6, 64).change(large),
    ),
    case(
        "values near -60000",
        "Values near -60000, which are values. Is what stands for -inf below them, and the maximum that is "
        "subtracted theirs?",
        rows(6, 64),
        x=draw.same.plus(-6e4),
    ),
    case("values all equal", "Equal elements share alike.", rows(5, 37, scale=0.0)),
    case(
        "1 column",
        "Rows of one element, one of them with nothing under the mask.",
        rows(5, 1),
        mask=draw.same.put(False, 1),
    ),
    case("17 columns", "17 elements in a block of 32: what do the other 15 lanes add to the sum?", rows(5, 17)),
    case("1000 columns", "1000 elements leave 24 lanes of a block of 1024 empty.", rows(5, 1000)),
    case(
        "many rows",
        "300 rows, one of them at least with nothing under the mask. Does every row find a program?",
        rows(300, 6),
        mask=draw.same.put(False, 100),
    ),
    case("no rows", "No rows go in, no rows come out.", rows(0, 33)),
    case(
        "distinction: no columns",
        "Rows without elements: nothing to compute and nothing to store.",
        rows(4, 0),
        bonus=True,
    ),
)
# x, or a gradient of it, and the mask, each in memory of its own.
LAYOUTS = (
    (
        "transposed",
        "Transposed, what comes in all alike: neighbours in a row are not neighbours in memory.",
        rows(37, 53),
        draw.same.transposed(),
        draw.same.transposed(),
    ),
    (
        "every second column",
        "float16, and the stride of the last dimension is 2, also of a mask. Compute in float32.",
        rows(9, 101).but(x=FLOAT16),
        draw.same.every_second(),
        draw.same.every_second(),
    ),
    (
        "rows of 70, every second column",
        "The last dimension has a stride of 2, and a mask is one row for all, at stride 0: each tensor has strides "
        "of its own.",
        rows(5, 70),
        draw.same.every_second(),
        draw.same.one_row(),
    ),
    (
        "3 rows of 8193, every second column",
        "Rows longer than a block, with a stride of 2, and a mask that is one row for all, at stride 0: do the "
        "strides count in every block of a row?",
        rows(3, 8193),
        draw.same.every_second(),
        draw.same.one_row(),
    ),
    (BEYOND, BEYOND_HINT, rows(3, 70).but(x=FLOAT16), draw.same.far_apart(), draw.same.far_apart()),
)
HALF = (*in_halves("{}", CONVERT, rows(6, 384, scale=2.0), "x"),)
DY = draw.gradient(like="x")
UPSTREAM = (
    case("dy of stride 0", "What .sum() hands back: one number for the whole shape.", rows(29, 67), dy=DY.one_number()),
    case(
        "tiny dy",
        "dy is about 1e-8: what comes out is as small, with as many digits. Is anything compared with a constant?",
        rows(9, 75),
        dy=DY.scale(1e-8),
    ),
    case("NaN in dy", NAN_IN.format("dy"), rows(6, 64, share=2.0), dy=DY.put(torch.nan, 2, 7)),
)

FORMULA = WildBug(
    who="the formula, torch.softmax over -inf,",
    thread="pytorch/pytorch#41508, #103963",
    function=wild.masked_softmax_formula,
    seen_by="a row of nothing",
    story="Every score of the row is -inf, so is the maximum, and -inf - -inf is NaN. PyTorch's attention has 0.",
)
CLAMPED = WildBug(
    who="burn since 2026-03",
    thread="tracel-ai/burn#4697",
    function=wild.masked_softmax_clamped,
    seen_by="values near -60000",
    story="It keeps the maximum above -1e4, so that a row of -inf gives no NaN. A row of -60000 then gives 0.",
)
SENTINEL = WildBug(
    who="flashinfer before 2026-08",
    thread="flashinfer-ai/flashinfer#4401",
    function=wild.masked_softmax_sentinel,
    seen_by="values near -60000",
    story="-5e4 stood for minus infinity. Scores below it are real (ALiBi, long contexts): then what is masked wins.",
)
AFTERWARDS = CommonMistake(
    who="a mask that is multiplied in after the softmax",
    function=wild.masked_softmax_afterwards,
    seen_by="ordinary values",
    story="The sum still holds what is masked out: the rows add up to less than 1, and a masked NaN reaches all.",
)

masked_softmax_forward = Exercise(
    name="masked_softmax_forward",
    summary="y = e^x / Σ e^x over the elements of a row where mask is True, 0 elsewhere; a row without one gives 0",
    oracle=softmax_under,
    outputs=(Output("y"),),
    cases=(*CASES, *(case(name, hint, given, x=x, mask=mask) for name, hint, given, x, mask in LAYOUTS), *HALF),
    tolerance=Tolerance(
        1,
        8,
        "Each e^(x - top) loses as many roundings as its exponent is large, and so does their sum, which in any order "
        "loses √N + N / 32 more.",
        forward_floor,
    ),
    hint="Subtract the largest element that counts, and ask what it is where there is none.",
    refused=frozenset("softmax _softmax _safe_softmax log_softmax _log_softmax logsumexp _masked_softmax".split()),
    wild=(FORMULA, CLAMPED, SENTINEL, AFTERWARDS),
    points=3,
    # All of x, since what is masked comes with its neighbours; a row longer than a block is read twice.
    least_bytes=lambda x, mask: x.numel() + 2 * x.numel() * x.element_size(),
    traffic=1.6,
    spills=SPILLED,
    # 1 column, many rows: among them are rows without a True.
    about=("a row of nothing", "nothing at all", "1 column", "many rows", "values near -60000"),
)

masked_softmax_backward = Exercise(
    name="masked_softmax_backward",
    summary="dx = y · (dy - Σ y · dy over the row)",
    oracle=softmax_gradient,
    outputs=(Output("dx", "y"),),
    cases=(
        *also(CASES, dy=DY),
        *(case(name, hint, given.but(dy=DY), dy=dy) for name, hint, given, dy, _ in LAYOUTS),
        *also(HALF, dy=DY),
        *UPSTREAM,
    ),
    tolerance=Tolerance(
        1,
        8,
        "dy - Σ y · dy cancels: what both are good for is left of neither, and the sum loses 8 + √N + N / 32 ulp.",
        backward_floor,
    ),
    hint="Differentiate y_j by x_k: y_j ([j = k] - y_k). Sum over j with dy_j.",
    refused=frozenset("softmax_backward_data _softmax_backward_data _masked_softmax_backward autograd".split()),
    points=2,
    least_bytes=lambda dy, y: 3 * y.numel() * y.element_size(),
    traffic=2.1,
    forward=masked_softmax_forward,
    about=("a row of nothing", "nothing at all"),
)
