"""The mean of a loss over the tokens that count. Cases: Liger-Kernel#177, unsloth#1417, transformers#34191."""

import torch
from torch import Tensor

from ...kernels.wild import token_mean as wild
from ..judge import Arguments, CommonMistake, Exercise, Floors, Output, Tolerance, WildBug, case, draw
from .cases.bad_labels import IGNORE
from .cases.rounding import EPS, floors, leaning_walk
from .cases.wording import AGAIN, KEEP_NOTHING


def mean_of_tokens(
    loss: Tensor, labels: Tensor, ignore_index: int = -100, num_items: int | Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(mean, its gradient for `Exercise.upstream_of`)."""
    keep = labels != ignore_index
    items = int(keep.sum() if num_items is None else num_items)
    share = keep.to(loss.dtype) / items if items else torch.zeros_like(loss)
    return (loss.where(keep, 0.0) * share).sum(), Exercise.upstream_of(loss, ()) * share


def torch_mean(
    loss: Tensor, labels: Tensor, ignore_index: int = -100, num_items: int | Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Says what PyTorch's operators give, division by 0 included: (mean, its gradient for `Exercise.upstream_of`)."""
    loss = loss.detach().clone().requires_grad_()
    kept = loss.where(labels != ignore_index, 0.0).sum()
    mean = kept / ((labels != ignore_index).sum() if num_items is None else num_items)
    return mean.detach(), torch.autograd.grad(mean, loss, Exercise.upstream_of(loss, ()))[0]


def sum_floor(loss: Tensor, labels: Tensor, ignore_index: int = -100, num_items: int | Tensor | None = None) -> Floors:
    """Returns what a float32 sum loses of the sum of magnitudes, in whichever order it is taken."""
    mean, _ = mean_of_tokens(loss.abs().nan_to_num(), labels, ignore_index, num_items)
    return floors((8 + leaning_walk(len(loss))) * EPS * mean, 0)


def rows(m: int, *kept: int, ignore_index: int = IGNORE, scale: float = 3.0) -> Arguments:
    """A loss of ``m`` rows, of which those in ``kept`` count. What is ignored has a loss of 0."""
    ignored = sorted({*range(m)}.difference(kept))
    loss = draw.normal(m).scale(scale).map(torch.abs)
    labels = draw.integers(m, low=1, high=49)
    if not ignored:
        return Arguments.named(loss=loss, labels=labels)
    return Arguments.named(loss=loss.put(0.0, ignored), labels=labels.put(ignore_index, ignored))


CASES = (
    case("ordinary values", "Begin here: 64 rows, and all of them count.", rows(64, *range(64))),
    case(AGAIN, KEEP_NOTHING, rows(64, *range(64))),
    case(
        "some rows ignored",
        "6 of 20 rows count. The others are neither in the sum nor in the count, and their gradient is 0.",
        rows(20, 0, 2, 3, 5, 8, 13),
    ),
    case(
        "mostly padding",
        "3 of 300 rows count: which rows are in the sum, and what is it divided by?",
        rows(300, 17, 180, 299),
    ),
    case("one token", "One row of 7 counts: the mean is its loss.", rows(7, 6)),
    case(
        "no token",
        "No row counts: the mean is 0, its gradient is 0, and it must stay attached to `loss`, so that "
        "backward() works.",
        rows(7),
        convention="no token",
    ),
    case("no rows", "An empty batch: no row counts, and the mean is 0.", rows(0), convention="no token"),
    case(
        "num_items of the whole step",
        "This micro-batch has 3 of the step's 40 tokens. Its share of the mean is its sum divided by 40.",
        rows(12, 1, 4, 9),
        num_items=40,
    ),
    case(
        "num_items is a tensor",
        "num_items may be a tensor, still on the GPU: 40 here, of which this micro-batch has 3.",
        rows(12, 1, 4, 9),
        num_items=torch.tensor(40),
    ),
    case(
        "a micro-batch without tokens",
        "num_items is 40, and no row here counts: the result is 0, attached to `loss`.",
        rows(12),
        num_items=40,
    ),
    case(
        "num_items = 0",
        "num_items is 0, which is a number and not None: the result is 0.",
        rows(6),
        num_items=0,
        convention="no token",
    ),
    case(
        "num_items = tensor(0)",
        "num_items is tensor(0), which is falsy and not None: the result is 0.",
        rows(6),
        num_items=torch.tensor(0),
        convention="no token",
    ),
    case(
        "num_items = 0 and tokens",
        "num_items is 0 although two rows count: the result is 0, and so is its gradient.",
        rows(6, 2, 3),
        num_items=0,
        convention="no token",
    ),
    case(
        "ignore_index = 0",
        "ignore_index is 0 here: rows 1, 2, 11 and 14 count.",
        rows(15, 1, 2, 11, 14, ignore_index=0),
        ignore_index=0,
    ),
    case(
        "ignore_index above every label",
        "ignore_index is 50,000 here: rows 1, 2, 11 and 14 count. Is every label that is not -100 counted, or every "
        "one that is not negative?",
        rows(15, 1, 2, 11, 14, ignore_index=50_000),
        ignore_index=50_000,
    ),
    case(
        "loss of stride 0",
        "loss is one number expanded to 12 rows, of which 3 count.",
        rows(12, 0, 5, 7),
        loss=draw.tensor([2.375] * 12).one_row(),
    ),
    case(
        "large losses", "4096 losses of thousands: in which dtype is the sum?", rows(4096, *range(4096), scale=3000.0)
    ),
    case(
        "NaN in one row",
        "A row that counts is NaN, and so is the mean: do not hide it.",
        rows(9, 1, 2, 5),
        loss=draw.same.put(torch.nan, 2),
    ),
    case(
        "distinction: NaN in ignored rows",
        "0 · NaN is NaN. Choose the rows that count; do not multiply the others by 0.",
        rows(9, 1, 2, 5),
        loss=draw.same.put(torch.nan, 0).put(torch.inf, 4),
        bonus=True,
    ),
)

NUMEL = WildBug(
    who="cut_cross_entropy 24.11.3-25.1.1",
    thread="unslothai/unsloth#1417",
    function=wild.token_mean_numel,
    seen_by="no token",
    story=(
        "Forward gives the mean of an empty tensor, NaN. Then backward divides 1 by the number of valid tokens and "
        "raises."
    ),
)
OR = WildBug(
    who="unsloth in December 2024",
    thread="unslothai/unsloth#1417",
    function=wild.token_mean_or,
    seen_by="num_items = 0",
    story=(
        "num_items_in_batch or n_items: 0 is falsy, so 0 items became no number at all, and the sum became a mean of "
        "none."
    ),
)
MASKED = WildBug(
    who="(loss * mask).sum() / mask.sum()",
    thread="NVIDIA-NeMo/Automodel#3796, among many",
    function=wild.token_mean_masked,
    seen_by="no token",
    story=(
        "Where the mask is empty this is 0 / 0, and its gradient is NaN in every element: the step destroys the model."
    ),
)
MICRO_BATCH = WildBug(
    who="transformers before 4.46",
    thread="huggingface/transformers#34191",
    function=wild.token_mean_of_micro_batch,
    seen_by="num_items of the whole step",
    story=(
        "Each micro-batch took the mean of its own tokens. The mean of means is not the mean where their numbers "
        "differ."
    ),
)
ROWS = CommonMistake(
    who="loss.mean() over padded rows",
    function=wild.token_mean_all_rows,
    seen_by="some rows ignored",
    story="Ignored rows are in the divisor. The more padding a batch has, the smaller is its gradient.",
)
CONSTANT = WildBug(
    who="the guard that returns a constant",
    thread="huggingface/trl#6859",
    function=wild.token_mean_constant,
    seen_by="no token",
    story="0 where no token counts, attached to nothing. One process has no gradient, and all the others wait for it.",
)

token_mean = Exercise(
    name="token_mean",
    summary="Σ loss over the rows that count / their number, or / num_items; 0 / 0 is 0, with a gradient of zeros",
    oracle=mean_of_tokens,
    outputs=(Output("mean", torch.float32), Output("dloss", "loss")),
    cases=CASES,
    tolerance=Tolerance(
        1,
        8,
        "One float32 sum of n numbers, in any order, which loses 8 + √n + n / 32 ulp, and one division.",
        sum_floor,
        sum_floor,
    ),
    hint="Return the mean alone; the check takes its gradient. Keep every path a function of loss.",
    backends=("torch",),
    refused=frozenset("cross_entropy cross_entropy_loss nll_loss nll_loss_nd".split()),
    peer=torch_mean,
    wild=(NUMEL, OR, MASKED, MICRO_BATCH, ROWS, CONSTANT),
    points=4,
    gradient_of="loss",
    about=("no token", "no rows", "num_items = 0", "num_items = tensor(0)", "num_items = 0 and tokens"),
)
