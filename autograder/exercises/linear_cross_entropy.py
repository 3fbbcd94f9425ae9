"""The last layer and its loss in one. Case: Liger-Kernel 0.0.1 to 0.2.1, linkedin/Liger-Kernel#177."""

import torch
from torch import Tensor
from torch.nn import functional as F

from ...kernels.wild import linear_cross_entropy as wild
from ..judge import HALVES, Arguments, Exercise, Floors, Large, Output, Tolerance, WildBug, case, draw
from ..runner import dtype_name
from .cases.halves import in_halves
from .cases.losses import any_labels, refused, without
from .cases.rounding import EPS, floors, walk
from .cases.wording import AGAIN, BEYOND, BEYOND_HINT, CONVERT, KEEP_NOTHING, NAN_IN, STEP_BY_STEP
from .cross_entropy import checked, cross_entropy_gradient, losses_and_lse


def mean_and_gradients(
    hidden: Tensor, weight: Tensor, labels: Tensor, ignore_index: int = -100
) -> tuple[Tensor, Tensor, Tensor]:
    """(loss, dhidden, dweight) from all logits at once."""
    _, x, logits, dlogits = _parts(hidden, weight, labels, ignore_index)
    loss, _ = losses_and_lse(logits, labels, ignore_index)
    return loss.sum() / _items(labels, ignore_index), dlogits @ weight, dlogits.t() @ x


def torch_mean_and_gradients(
    hidden: Tensor, weight: Tensor, labels: Tensor, ignore_index: int = -100
) -> tuple[Tensor, Tensor, Tensor]:
    """PyTorch's loss and gradients in float32, rounded at the end."""
    checked(weight.t(), labels, ignore_index)
    x, w = hidden.float().requires_grad_(), weight.float().requires_grad_()
    loss = F.cross_entropy(x @ w.t(), labels, ignore_index=ignore_index)
    dhidden, dweight = torch.autograd.grad(loss, (x, w))
    return loss.detach(), dhidden.to(hidden.dtype), dweight.to(weight.dtype)


def _parts(hidden: Tensor, weight: Tensor, labels: Tensor, ignore_index: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(keep, hidden with 0 in the rows that are ignored, logits, dlogits)."""
    keep, _ = checked(weight.t(), labels, ignore_index)
    x = hidden.where(keep.unsqueeze(1), 0.0)
    logits = x @ weight.t()
    _, lse = losses_and_lse(logits, labels, ignore_index)
    dloss = torch.full(labels.shape, 1 / _items(labels, ignore_index), dtype=hidden.dtype)
    return keep, x, logits, cross_entropy_gradient(dloss, logits, labels, lse, ignore_index)


def _items(labels: Tensor, ignore_index: int) -> int:
    return max(int((labels != ignore_index).sum()), 1)


def floor(hidden: Tensor, weight: Tensor, labels: Tensor, ignore_index: int = -100) -> Floors:
    """A logit is a float32 sum of D products; what it loses goes through the softmax, and the sums after it lose
    theirs.
    """
    keep, x, logits, dlogits = _parts(hidden, weight, labels, ignore_index)
    n, columns = _items(labels, ignore_index), labels.where(keep, 0).unsqueeze(1)
    lost = 4 * EPS * (x.abs() @ weight.abs().t() + 2)
    _, lse = losses_and_lse(logits, labels, ignore_index)
    p = (logits - lse.unsqueeze(1)).exp()
    row = (p * lost).sum(1, keepdim=True)  # lost of lse
    slope = p * (
        lost + row + EPS * (4 + (logits - lse.unsqueeze(1)).abs() + lse.abs().unsqueeze(1))
    )  # lse is rounded, too
    slope = slope.scatter_add(1, columns, torch.full_like(columns, 1, dtype=p.dtype) * 2 * EPS)
    slope = slope.where(keep.unsqueeze(1), 0.0) / n
    over_classes, over_rows = (slope + EPS * (8 + walk(terms)) * dlogits.abs() for terms in (weight.shape[0], n))
    loss = (row.squeeze(1) + lost.gather(1, columns).squeeze(1) + 2 * EPS * lse.abs()).where(keep, 0.0).sum() / n
    return floors(loss, over_classes @ weight.abs(), over_rows.t() @ x.abs())


def half_of_the_logits(hidden: Tensor, weight: Tensor, labels: Tensor, ignore_index: int = -100) -> int:
    """Half of the logits in float32, and four times all that comes in and goes out."""
    (M, D), V = hidden.shape, weight.shape[0]
    return 4 * M * V // 2 + 4 * 4 * (M * D + V * D + 2 * M) + (1 << 14)


def batch(m: int, d: int, v: int, *, scale: float = 1.0) -> Arguments:
    """Hidden states and weights whose product has ``scale`` for its standard deviation, about."""
    weight = draw.normal(v, d).scale(2.0 * scale / d**0.5)
    return Arguments.named(hidden=draw.normal(m, d).scale(1.5), weight=weight, labels=any_labels(m, v))


def certain(dtype: torch.dtype = torch.float32) -> Arguments:
    """The label's weight is along hidden: p of the label is up to 1 - 1e-6."""

    def change(hidden: Tensor, weight: Tensor, labels: Tensor) -> None:
        for row, logit in enumerate((4.0, 7.0, 9.0, 11.0, 14.0, 16.0)):
            labels[row] = 3 + row
            x = hidden[row].float()
            weight[3 + row] = (x * logit / (x @ x)).to(dtype)

    return batch(6, 24, 40, scale=0.1).each(draw.same.to(dtype), *BOTH).change(change)


BOTH = ("hidden", "weight")
CASES = (
    case(
        "ordinary values",
        "Begin here: 12 rows, 16 features, 40 classes, and every row counts. " + STEP_BY_STEP,
        batch(12, 16, 40),
    ),
    case(AGAIN, KEEP_NOTHING, batch(12, 16, 40)),
    case(
        "some rows ignored",
        "9 of 13 rows count: the mean is over these, and the others have a gradient of 0.",
        without(batch(13, 8, 33), 0, 3, 4, 12),
    ),
    case(
        "all rows ignored",
        "No row counts: the loss is 0 and so is every gradient. Where do you divide by their number?",
        without(batch(10, 8, 33), *range(10)),
        convention="no token",
    ),
    case(
        "no rows",
        "An empty batch: the loss is 0. How many rows does a chunk of it have, and how many chunks are there?",
        batch(0, 8, 33),
        convention="no token",
    ),
    case("one row", "One row: the last chunk is the first, and holds one row.", batch(1, 8, 33)),
    case("one row counts", "Only row 23 of 40 counts.", without(batch(40, 8, 33), *range(23), *range(24, 40))),
    case(
        "chunks without tokens",
        "The first 5 and the last 10 of 150 rows count: some chunks have none, and each chunk's share is its "
        "sum over 15.",
        without(batch(150, 16, 40), *range(5, 140)),
    ),
    case(
        "ignore_index = 0",
        "ignore_index is 0 here: rows with that label do not count.",
        without(batch(14, 8, 33), 2, 5, index=0),
    ),
    case(
        "ignore_index = -1",
        "ignore_index is -1 here: rows 0 and 5 do not count. As an index -1 is the last class in Python, and in a "
        "kernel what lies before the row.",
        without(batch(14, 8, 33), 0, 5, index=-1),
    ),
    case(
        "ignore_index above V",
        "ignore_index is 50,000 here, and there are 33 classes: rows 3 and 13 do not count and are not errors.",
        without(batch(14, 8, 33), 3, 13, index=50_000),
    ),
    case("large logits", "Logits of hundreds: e^x overflows from 88.7 on.", batch(9, 16, 40, scale=100.0)),
    case("a nearly certain label", "p of the label is up to 1 - 1e-6: what is left of p - 1?", certain()),
    case("1 class", "One class: the loss is 0. Rows 1 and 4 are ignored.", without(batch(5, 8, 1), 1, 4)),
    case(
        "17 classes",
        "20 rows and 17 classes: more than one chunk or tile of 16, the last not full. Does each add its share?",
        batch(20, 8, 17),
    ),
    case("1000 classes", "1000 classes: many tiles, the last one not full.", batch(18, 8, 1000)),
    case(
        "logits far below zero",
        "4097 logits near -200 a row, where e^x is 0, and in row 1 the first half near -10. Where does a maximum "
        "start, can that of a later block be lower, and does every tile of classes count?",
        hidden=draw.normal(3, 2).scale(0.3).plus(torch.tensor([10.0, 0.0])).put((0.0, 1.0, 0.0), slice(None), 1),
        weight=draw.normal(4097, 2)
        .scale(0.3)
        .plus(torch.tensor([-20.0, 0.0]))
        .put(190.0, slice(2048), 1)
        .put(-19.0, -1, 0),
        labels=any_labels(3, 4097),
    ),
    case("one feature", "One feature, and 32 rows: two chunks or tiles of 16, the last one full.", batch(32, 1, 19)),
    case(
        "75 features",
        "75 features, which no tile of 16, 32 or 64 divides: the last step along them has to be masked.",
        batch(20, 75, 19),
    ),
    case(
        "every second column",
        "hidden and weight have a stride of 2 along the features.",
        batch(12, 8, 40).each(draw.same.every_second(), *BOTH),
    ),
    case(
        "transposed",
        "hidden and weight are transposed: neighbours in memory are of one feature. Each has strides of its own.",
        batch(12, 8, 40).each(draw.same.transposed(), *BOTH),
    ),
    *in_halves("{}", CONVERT, batch(21, 24, 50), *BOTH),
    case(
        BEYOND,
        BEYOND_HINT,
        batch(3, 16, 3).each(draw.same.to(torch.bfloat16), *BOTH),
        hidden=draw.same.map(lambda x: (2 * x).round() / 2).far_apart(),
        weight=draw.same.map(lambda x: (4 * x).round() / 4).far_apart(),
    ),
    *(
        case(
            f"a nearly certain label, {dtype_name(dtype)}",
            "p of the label is up to 1 - 1e-6: hold the logits and p in float32.",
            certain(dtype),
        )
        for dtype in HALVES
    ),
    case("NaN in weight", NAN_IN.format("weight"), batch(7, 12, 30), weight=draw.same.put(torch.nan, 4, 3)),
    case(
        "NaN in one row",
        "One NaN in hidden: the loss is NaN, and so are its row of dhidden and all of dweight.",
        batch(7, 12, 30),
        hidden=draw.same.put(torch.nan, 4, 3),
    ),
    *refused(lambda rows: batch(rows, 8, 50), "Raise an IndexError that names the row of the whole batch."),
    case(
        "160 rows, 700 classes",
        "Here the logits are much larger than all the rest: (160, 700). Hold a part of them at a time.",
        without(batch(160, 8, 700), *range(60, 100)),
    ),
    case(
        "distinction: NaN in ignored rows",
        "A row that does not count may hold anything.",
        without(batch(9, 12, 30), 1, 6),
        hidden=draw.same.put(torch.nan, 1).put(torch.inf, 6, 2),
        bonus=True,
    ),
)


_TIMES = 128  # a power of two: what is divided by it loses nothing
_CLASSES = 1 << 15  # with 2048 rows 256 MiB of logits
_LONGER = _CLASSES // 1000  # than the longest sum over classes in the cases, which the floor was set on
LARGE = Large(batch(16, 8, _CLASSES), _TIMES, (0, 2), 0, (None, 1 / _TIMES, None), _LONGER)

REASON = (
    "Every product is a float32 sum of D, V or n terms and loses ulp of the sum of their magnitudes: 4 where it goes "
    "through the softmax, 8 + √V or 8 + √n after it. The result is rounded once, to the dtype of its tensor."
)
RATIO = WildBug(
    who="Liger-Kernel 0.0.1-0.2.1",
    thread="linkedin/Liger-Kernel#177",
    function=wild.linear_cross_entropy_ratio,
    seen_by="all rows ignored",
    story="n_non_ignore / total_n_non_ignore, two Python integers, and the second one 0.",
)
SILENT = WildBug(
    who="Liger-Kernel from 2024-09-09 to 2024-09-13",
    thread="linkedin/Liger-Kernel#237",
    function=wild.linear_cross_entropy_silent_ratio,
    seen_by="all rows ignored",
    story="The same ratio of two tensors. What had been an exception became a NaN, without a warning.",
)
NO_ROWS = WildBug(
    who="Liger-Kernel 0.3.0-0.8.5",
    thread="linkedin/Liger-Kernel#153",
    function=wild.linear_cross_entropy_no_rows,
    seen_by="no rows",
    story="No label that counts is 0 since the fix. A batch of no rows has chunks of no rows, and cdiv(0, 0) of them.",
)
CHUNKS = WildBug(
    who="the mean of the chunks' means",
    thread="huggingface/transformers#34191, between chunks",
    function=wild.linear_cross_entropy_mean_of_chunks,
    seen_by="chunks without tokens",
    story="Each chunk's mean has the same weight, whether 16 of its rows count or one.",
)

linear_cross_entropy_forward_backward = Exercise(
    name="linear_cross_entropy_forward_backward",
    summary=(
        "loss = mean of cross_entropy(hidden @ weightᵀ) over the rows that count, dhidden, dweight; never all logits"
    ),
    oracle=mean_and_gradients,
    outputs=(Output("loss", torch.float32), Output("dhidden", "hidden"), Output("dweight", "weight")),
    cases=CASES,
    tolerance=Tolerance(1, 8, REASON, floor, floor),
    hint="A few rows at a time: their logits, their loss, their dlogits, and what these give to dhidden and dweight.",
    refused=frozenset("linear_cross_entropy cross_entropy cross_entropy_loss nll_loss nll_loss_nd autograd".split()),
    allowed=frozenset("_local_scalar_dense ne nonzero index_select index_copy_ index".split()),
    peer=torch_mean_and_gradients,
    wild=(NO_ROWS, RATIO, SILENT, CHUNKS),
    points=8,
    most_bytes=half_of_the_logits,
    large=LARGE,
    about=("peak memory",),
)
