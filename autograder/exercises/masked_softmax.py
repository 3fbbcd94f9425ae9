"""Softmax under a mask. Case: a row that may look at nothing, pytorch#41508 and #103963."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor

from ...kernels.wild import attention as wild
from ..run.contract import Args
from ..run.huge_strides import far_apart
from .cases.common import (
    AGAIN,
    EPS,
    KEEP_NOTHING,
    STEP_BY_STEP,
    View,
    as_it_is,
    every_second,
    leaning_walk,
    one_number,
    transposed,
)
from .cases.elementwise import BEYOND, BEYOND_HINT, gradient, normal
from .cases.rows import floors
from .record import Case, CommonMistake, Exercise, Floors, Inputs, Output, Tolerance, WildBug

CONVERT = "Convert to float32 first, compute there, and round once at the end."
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


def _drawn(
    m: int,
    n: int,
    dtype: torch.dtype = torch.float32,
    *,
    share: float = 0.6,
    scale: float = 3.0,
    change: Callable[[Tensor, Tensor], object] | None = None,
) -> Inputs:
    """A matrix and a mask under which a share of it lies; ``change`` alters both in place."""

    def inputs(generator: Generator) -> Args:
        x = normal(generator, (m, n), dtype, scale)
        mask = torch.rand((m, n), generator=generator) < share
        if change:
            change(x, mask)
        return x, mask

    return inputs


def _row(row: int, keep: slice | int | None, value: float | None = None) -> Callable[[Tensor, Tensor], None]:
    """A change: of the mask's row ``row`` only ``keep`` stays True; what is off holds ``value``."""

    def change(x: Tensor, mask: Tensor) -> None:
        mask[row] = False
        if keep is not None:
            mask[row, keep] = True
        if value is not None:
            x[~mask] = value

    return change


def _poisoned(x: Tensor, mask: Tensor) -> None:
    """What the mask leaves out is NaN and infinity, in turn."""
    x[~mask] = torch.tensor([torch.nan, torch.inf, -torch.inf]).repeat(x.numel())[: int((~mask).sum())].to(x.dtype)


def _seen_nan(x: Tensor, mask: Tensor) -> None:
    x[2, 7], mask[2, 7] = torch.nan, True


def _rows_of_infinity(x: Tensor, mask: Tensor) -> None:
    x[1], x[3, ::2] = -torch.inf, -torch.inf


def _low(x: Tensor, mask: Tensor) -> None:
    """Values near -60000; in row 1 only the last one counts."""
    x -= 6e4
    _row(1, -1)(x, mask)


def _falling(x: Tensor, mask: Tensor) -> None:
    """Row 0 falls by 200 after a block; in row 1 only the first element counts."""
    x[0, 5011:] -= 200
    _row(1, 0)(x, mask)


def _one_for_all(mask: Tensor) -> Tensor:
    """Every row is the first one, at stride 0."""
    return mask[:1].expand(mask.shape)


class Row(NamedTuple):
    """One case. view: how x lies in memory, and dy; and the mask, where ``mask`` does not say otherwise."""

    name: str
    drawn: Inputs
    hint: str
    view: View = as_it_is
    mask: View | None = None


ROWS: tuple[tuple[Any, ...], ...] = (
    ("ordinary values", _drawn(7, 128), "Begin here: 7 rows of 128, about 77 of each count. " + STEP_BY_STEP),
    (AGAIN, _drawn(7, 128), KEEP_NOTHING),
    (
        "everything",
        _drawn(5, 100, share=2.0),
        "Every element of the mask is True: an ordinary softmax, of rows of 100.",
    ),
    ("a row of nothing", _drawn(6, 50, change=_row(2, None)), NOTHING),
    ("nothing at all", _drawn(4, 33, share=-1.0), NOTHING),
    ("one element in a row", _drawn(6, 50, change=_row(4, 17)), "One element gets all the weight, whatever it is."),
    (
        "the last element alone",
        _drawn(3, 20_011, share=0.5, change=_low),
        "Rows of 20,011 values near -60000, several blocks each. In row 1 only the last element counts: its first "
        "blocks have none that does. Where does the maximum start?",
    ),
    (
        "the first element alone",
        _drawn(3, 20_011, share=0.5, change=_falling),
        "Rows of 20,011, several blocks each. In row 1 only the first element counts, and in row 0 the last 15,000 are "
        "200 lower: can the maximum of a block be below that of the one before?",
    ),
    (
        "NaN and infinity under no mask",
        _drawn(6, 90, change=_poisoned),
        "Outside of the mask are NaN and infinity: they must reach neither the maximum, nor the sum, nor a "
        "product with 0.",
    ),
    (
        "rows of -inf",
        _drawn(6, 64, change=_rows_of_infinity),
        "A -inf that counts has weight 0, and a row of -inf alone gives 0. -inf - -inf and 0 / 0 would be NaN.",
    ),
    (
        "NaN in one row",
        _drawn(6, 64, change=_seen_nan),
        "A NaN that counts: its row is NaN where the mask is True. What is masked off is 0, whatever else "
        "the row holds. (In Triton, tl.max drops NaN.)",
    ),
    (
        "large values",
        _drawn(6, 64, scale=4e3),
        "e^x overflows from 88.7 on: subtract the largest element that counts.",
    ),
    (
        "large values under no mask",
        _drawn(6, 64, change=lambda x, mask: x.masked_fill_(~mask, 9e3)),
        "The largest element of a row may be outside of the mask.",
    ),
    (
        "values near -60000",
        _drawn(6, 64, change=lambda x, mask: x.sub_(6e4)),
        "Values near -60000, which are values. Is what stands for -inf below them, and the maximum that is "
        "subtracted theirs?",
    ),
    ("values all equal", _drawn(5, 37, scale=0.0), "Equal elements share alike."),
    ("1 column", _drawn(5, 1, change=_row(1, None)), "Rows of one element, one of them with nothing under the mask."),
    ("17 columns", _drawn(5, 17), "17 elements in a block of 32: what do the other 15 lanes add to the sum?"),
    ("1000 columns", _drawn(5, 1000), "1000 elements leave 24 lanes of a block of 1024 empty."),
    (
        "many rows",
        _drawn(300, 6, change=_row(100, None)),
        "300 rows, one of them at least with nothing under the mask. Does every row find a program?",
    ),
    ("no rows", _drawn(0, 33), "No rows go in, no rows come out."),
    ("no columns", _drawn(4, 0), "Rows without elements: nothing to compute and nothing to store."),
    (
        "transposed",
        _drawn(37, 53),
        "Transposed, what comes in all alike: neighbours in a row are not neighbours in memory.",
        transposed,
    ),
    (
        "every second column",
        _drawn(9, 101, torch.float16),
        "float16, and the stride of the last dimension is 2, also of a mask. Compute in float32.",
        every_second,
    ),
    (
        "rows of 70, every second column",
        _drawn(5, 70),
        "The last dimension has a stride of 2, and a mask is one row for all, at stride 0: each tensor has strides "
        "of its own.",
        every_second,
        _one_for_all,
    ),
    (
        "3 rows of 8193, every second column",
        _drawn(3, 8193),
        "Rows longer than a block, with a stride of 2, and a mask that is one row for all, at stride 0: do the "
        "strides count in every block of a row?",
        every_second,
        _one_for_all,
    ),
    (BEYOND, _drawn(3, 70, torch.float16), BEYOND_HINT, far_apart),
    ("float16", _drawn(6, 384, torch.float16, scale=2.0), CONVERT),
    ("bfloat16", _drawn(6, 384, torch.bfloat16, scale=2.0), CONVERT),
)
GRADIENTS: tuple[tuple[Any, ...], ...] = (
    ("dy of stride 0", _drawn(29, 67), "What .sum() hands back: one number for the whole shape.", one_number),
    (
        "tiny dy",
        _drawn(9, 75),
        "dy is about 1e-8: what comes out is as small, with as many digits. Is anything compared with a constant?",
        lambda dy: dy * 1e-8,
    ),
)


def _forward(row: Row) -> Case:
    def inputs(generator: Generator) -> Args:
        x, mask = row.drawn(generator)
        return row.view(x), (row.mask or row.view)(mask)

    return Case(row.name, inputs, row.hint)


def _backward(row: Row) -> Case:
    """dy, and y as forward saved it, which is contiguous."""

    def inputs(generator: Generator) -> Args:
        x, mask = row.drawn(generator)
        y = softmax_under(x.double(), mask).to(x.dtype)
        return row.view(gradient(generator, y.shape, y.dtype)), y

    return Case(row.name, inputs, row.hint)


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
    cases=tuple(_forward(Row(*row)) for row in ROWS),
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
    least_bytes=lambda x, mask: x.numel() + int(mask.sum()) * x.element_size() + x.numel() * x.element_size(),
    traffic=2.1,  # a row longer than a block is read twice
    about=("a row of nothing", "nothing at all", "1 column", "many rows"),  # rows without a True among the last
)

masked_softmax_backward = Exercise(
    name="masked_softmax_backward",
    summary="dx = y · (dy - Σ y · dy over the row)",
    oracle=softmax_gradient,
    outputs=(Output("dx", "y"),),
    cases=tuple(_backward(Row(*row)) for row in (*ROWS, *GRADIENTS)),
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
