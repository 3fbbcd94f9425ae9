"""The mean of a loss over the tokens that count. Cases: Liger-Kernel#177, unsloth#1417, transformers#34191."""

import torch
from torch import Generator, Tensor

from ...kernels.wild import cross_entropy as wild_cross_entropy
from ...kernels.wild import token_mean as wild
from ..run.contract import Args
from ..run.gradient import UPSTREAM
from .cases.common import AGAIN, EPS, KEEP_NOTHING
from .cases.elementwise import normal
from .cases.losses import IGNORE
from .cases.rows import floors
from .cross_entropy import cross_entropy
from .record import Case, Exercise, Floors, Inputs, Output, Tolerance, WildBug, Witness


def mean_of_tokens(
    loss: Tensor, labels: Tensor, ignore_index: int = -100, num_items: int | Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(mean, its gradient for `UPSTREAM`)."""
    keep = labels != ignore_index
    items = int(keep.sum() if num_items is None else num_items)
    share = keep.to(loss.dtype) / items if items else torch.zeros_like(loss)
    return (loss.where(keep, 0.0) * share).sum(), UPSTREAM * share


def torch_mean(
    loss: Tensor, labels: Tensor, ignore_index: int = -100, num_items: int | Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """What PyTorch's operators give, division by 0 included: (mean, its gradient for `UPSTREAM`)."""
    loss = loss.detach().clone().requires_grad_()
    kept = loss.where(labels != ignore_index, 0.0).sum()
    mean = kept / ((labels != ignore_index).sum() if num_items is None else num_items)
    return mean.detach(), torch.autograd.grad(mean, loss, torch.tensor(UPSTREAM))[0]


def sum_floor(loss: Tensor, labels: Tensor, ignore_index: int = -100, num_items: int | Tensor | None = None) -> Floors:
    """A float32 sum loses a few ulp of the sum of magnitudes, in whichever order it is taken."""
    mean, _ = mean_of_tokens(loss.abs().nan_to_num(), labels, ignore_index, num_items)
    return floors(8 * EPS * mean, 0)


def _rows(
    m: int,
    *kept: int,
    ignore_index: int | None = None,
    num_items: int | Tensor | None = None,
    every: bool = False,
    scale: float = 3.0,
) -> Inputs:
    """A loss of ``m`` rows, of which those in ``kept`` count, or all. What is ignored has a loss of 0."""

    def inputs(generator: Generator) -> Args:
        loss = normal(generator, (m,), scale=scale).abs()
        index = IGNORE if ignore_index is None else ignore_index
        labels = torch.randint(1, 50, (m,), generator=generator)
        ignored = torch.full((m,), not every)
        ignored[list(kept)] = False
        labels[ignored] = index
        more = () if ignore_index is None and num_items is None else (index,)
        return (loss.masked_fill(ignored, 0), labels, *more) + (() if num_items is None else (num_items,))

    return inputs


def _garbage(generator: Generator) -> tuple[Tensor, Tensor]:
    loss, labels = _rows(9, 1, 2, 5)(generator)
    loss[0], loss[4] = torch.nan, torch.inf
    return loss, labels


def _one_nan(generator: Generator) -> tuple[Tensor, Tensor]:
    loss, labels = _rows(9, 1, 2, 5)(generator)
    loss[2] = torch.nan
    return loss, labels


def _expanded(generator: Generator) -> tuple[Tensor, Tensor]:
    return torch.tensor(2.375).expand(12), _rows(12, 0, 5, 7)(generator)[1]


CASES = (
    Case("ordinary values", _rows(64, every=True), "Begin here: 64 rows, and all of them count."),
    Case(
        AGAIN,
        _rows(64, every=True),
        KEEP_NOTHING,
    ),
    Case(
        "some rows ignored",
        _rows(20, 0, 2, 3, 5, 8, 13),
        "A row that is ignored is neither in the sum nor in the number: also its gradient is 0.",
    ),
    Case(
        "mostly padding",
        _rows(300, 17, 180, 299),
        "3 rows of 300 count. A mean over all rows is a hundred times too small.",
    ),
    Case("one token", _rows(7, 6), "The mean of one number."),
    Case(
        "no token",
        _rows(7),
        "No row counts: the mean shall be 0, its gradient zeros, and backward() shall still reach the parameters.",
        convention="no token",
    ),
    Case("no rows", _rows(0), "An empty batch is one in which no row counts.", convention="no token"),
    Case(
        "num_items of the whole step",
        _rows(12, 1, 4, 9, num_items=40),
        "This micro-batch has 3 of the step's 40 tokens. Its share of the mean is its sum divided by 40.",
    ),
    Case(
        "num_items is a tensor", _rows(12, 1, 4, 9, num_items=torch.tensor(40)), "The number may still be on the GPU."
    ),
    Case(
        "a micro-batch without tokens",
        _rows(12, num_items=40),
        "Others have all 40 tokens. This share is 0, and attached.",
    ),
    Case(
        "num_items = 0",
        _rows(6, num_items=0),
        "0 is a number that was given: it is not the same as None.",
        convention="no token",
    ),
    Case(
        "num_items = tensor(0)",
        _rows(6, num_items=torch.tensor(0)),
        "A tensor of 0 is falsy, like 0 itself.",
        convention="no token",
    ),
    Case(
        "num_items = 0 and tokens",
        _rows(6, 2, 3, num_items=0),
        "Who says 0 items gets 0: no mean over something else, and no division.",
        convention="no token",
    ),
    Case("ignore_index = 0", _rows(15, 1, 2, 11, 14, ignore_index=0), "Another ignore_index."),
    Case("loss of stride 0", _expanded, "One number for all rows."),
    Case("large losses", _rows(4096, every=True, scale=3000.0), "4096 losses of thousands: in which dtype is the sum?"),
    Case("NaN in one row", _one_nan, "NaN in gives NaN out: do not hide it."),
    Case(
        "distinction: NaN in ignored rows",
        _garbage,
        "0 · NaN is NaN. Choose the rows that count; do not multiply the others by 0.",
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
ROWS = WildBug(
    who="loss.mean() over padded rows",
    thread="no thread of its own",
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
    tolerance=Tolerance(1, 8, "One float32 sum, in any order, and one division.", sum_floor, sum_floor),
    hint="Return the mean alone; the check takes its gradient. Keep every path a function of loss.",
    backends=("torch",),
    refused=frozenset("cross_entropy cross_entropy_loss nll_loss nll_loss_nd".split()),
    peer=torch_mean,
    wild=(NUMEL, OR, MASKED, MICRO_BATCH, ROWS, CONSTANT),
    points=4,
    gradient_of="loss",
)

RATIO = WildBug(
    who="Liger-Kernel 0.0.1-0.2.1",
    thread="linkedin/Liger-Kernel#177",
    function=wild_cross_entropy.mean_cross_entropy_ratio,
    seen_by="no token",
    story="n_non_ignore / total_n_non_ignore, two Python integers, and the second one 0.",
)


def _mean_cross_entropy(logits: Tensor, labels: Tensor, ignore_index: int = -100) -> Tensor:
    loss, _ = cross_entropy(logits, labels, ignore_index)
    return loss.sum() / max(int((labels != ignore_index).sum()), 1)


def _no_witness(logits: Tensor, labels: Tensor, ignore_index: int = -100) -> str:
    """Why these are no arguments of cross-entropy; "" if they are."""
    if logits.dim() != 2 or labels.shape != logits.shape[:1]:
        return "logits are a matrix (M, V), labels are (M,)."
    bad = (labels != ignore_index) & ((labels < 0) | (labels >= logits.shape[1]))
    return (
        f"Label {labels[bad][0]} is no class, and not ignore_index. That is bad input, not a witness."
        if bad.any()
        else ""
    )


cross_entropy_witness = Witness(
    name="cross_entropy_witness",
    summary="(logits, labels) on which the mean of Liger-Kernel 0.2.1 fails",
    exercise=Exercise(
        name="mean_cross_entropy",
        summary="the mean of loss over the rows that count",
        oracle=_mean_cross_entropy,
        outputs=(Output("mean", torch.float32),),
        cases=(),
        tolerance=Tolerance(1, 8, "Float32 sums in any order.", lambda logits, *_: (EPS * 32 * logits.abs().max(),)),
        hint="",
    ),
    bug=RATIO,
    hint="It divides by the number of labels that count. -100 is the label that does not.",
    complaint=_no_witness,
    integers=frozenset({"labels"}),
    points=2,
)
