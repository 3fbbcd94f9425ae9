"""Cross-entropy over a vocabulary. Cases: Liger-Kernel#177, #588 and #1329; the mean over zero tokens is in
token_mean.
"""

from dataclasses import replace

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from ...kernels.wild import cross_entropy as wild
from ..judge import Case, CommonMistake, Exercise, Floors, Output, Tolerance, WildBug, case, draw
from ..runner import Args
from .cases.losses import batch, losses
from .cases.rounding import EPS, floors, leaning_walk
from .cases.wording import NAN_IN


def checked(logits: Tensor, labels: Tensor, ignore_index: int) -> tuple[Tensor, Tensor]:
    """(keep, column): which rows count, and each one's label as an index; 0 for the others. Raises IndexError."""
    keep = labels != ignore_index
    bad = keep & ((labels < 0) | (labels >= logits.shape[1]))
    if bad.any():
        raise IndexError(f"label {labels[bad][0]} in row {bad.nonzero()[0].item()}")
    return keep, labels.where(keep, 0).unsqueeze(1)


def label_logit(logits: Tensor, labels: Tensor, ignore_index: int = -100) -> Tensor:
    """Returns the logit of each row's label, (B,); 0 where the row is ignored. Raises IndexError for a bad label."""
    keep, column = checked(logits, labels, ignore_index)
    return logits.gather(1, column).squeeze(1).where(keep, 0.0)


def losses_and_lse(logits: Tensor, labels: Tensor, ignore_index: int = -100) -> tuple[Tensor, Tensor]:
    """(loss, lse), from log(1 + e^(others - own)): the label's own term is left out of the sum, so nothing cancels."""
    keep, column = checked(logits, labels, ignore_index)
    target = label_logit(logits, labels, ignore_index)
    others = logits.scatter(1, column, -torch.inf).logsumexp(1)
    zero = torch.zeros_like(target)
    return torch.logaddexp(others - target, zero).where(keep, zero), torch.logaddexp(others, target).where(keep, zero)


def cross_entropy_gradient(
    dloss: Tensor, logits: Tensor, labels: Tensor, lse: Tensor, ignore_index: int = -100
) -> Tensor:
    """The derivative, with p = e^(x - lse) from the lse that is given."""
    keep, column = checked(logits, labels, ignore_index)
    log_p = logits - lse.unsqueeze(1)
    slope = log_p.exp().scatter(1, column, log_p.gather(1, column).expm1())
    return (dloss.unsqueeze(1) * slope).where(keep.unsqueeze(1), 0.0)


def forward_floor(logits: Tensor, labels: Tensor, ignore_index: int = -100) -> Floors:
    """lse is a maximum and the logarithm of a sum, each rounded; the loss is the difference of lse and a logit."""
    loss, lse = losses_and_lse(logits, labels, ignore_index)
    target = label_logit(logits, labels, ignore_index).abs()
    keep = labels != ignore_index
    lost = EPS * (_largest(logits) + lse.abs() + 8 + leaning_walk(logits.shape[1]))
    return floors((lost + EPS * target).where(keep, 0.0))[0], _ignored(lost, keep)


def forward_distinction(logits: Tensor, labels: Tensor, ignore_index: int = -100) -> Floors:
    """Returns what the rounding of others and own costs loss = log(1 + e^z), z = others - own: (1 - p) times their
    errors.
    """
    loss, lse = losses_and_lse(logits, labels, ignore_index)
    target = label_logit(logits, labels, ignore_index)
    lost = EPS * (_largest(logits) + 8)
    keep = labels != ignore_index
    return floors((lost * -(target - lse).expm1()).where(keep, 0.0))[0], _ignored(lost, keep)


def backward_floor(
    dloss: Tensor,
    logits: Tensor,
    labels: Tensor,
    lse: Tensor,
    ignore_index: int = -100,
    *,
    at_label: Tensor | float = 1.0,
) -> Floors:
    """e^(x - lse) loses |x - lse| roundings, and may take lse anew; p - 1 is one more rounding of 1."""
    keep, column = checked(logits, labels, ignore_index)
    log_p = logits - lse.unsqueeze(1)
    anew = 2 * lse.abs().unsqueeze(1) + leaning_walk(logits.shape[1])
    lost = log_p.exp() * (4 + 2 * log_p.abs().nan_to_num(posinf=0) + anew * at_label)
    label_error = lost.gather(1, column) + 4 if at_label else 8 * log_p.gather(1, column).expm1().abs()
    return floors((EPS * dloss.abs().unsqueeze(1) * lost.scatter(1, column, label_error)).where(keep.unsqueeze(1), 0.0))


def _largest(logits: Tensor) -> Tensor:
    """The largest finite logit of each row, whatever its sign."""
    return logits.nan_to_num(nan=0, posinf=0, neginf=0).abs().amax(1) if logits.numel() else logits.sum(1)


def _ignored(lost: Tensor, keep: Tensor) -> Tensor:
    """lse is not judged where the row is ignored: some compute it, and it is not needed."""
    return lost.nan_to_num().masked_fill(~keep, torch.inf)


def backward_arguments(generator: Generator, logits: Tensor, labels: Tensor, *ignore_index: int) -> Args:
    """dloss and, as forward saves it, lse. No dloss is 0: of few rows one that counts would be lost at some seeds."""
    _, lse = losses_and_lse(logits.double(), labels, *ignore_index)
    dloss = draw.without_zeros(*labels.shape).drawn(generator)
    return dloss, logits, labels, lse.float(), *ignore_index


def from_ones(original: Case) -> Case:
    """The case of a gradient with a dloss of ones where it is about logits alone."""
    if original.bonus or original.subject not in ("plain", "again", "single", "sizes", "range"):
        return original

    def inputs(generator: Generator) -> Args:
        dloss, *rest = original.inputs(generator)
        return torch.ones_like(dloss), *rest

    return replace(original, inputs=inputs)


def torch_forward(logits: Tensor, labels: Tensor, ignore_index: int = -100) -> tuple[Tensor, Tensor]:
    """PyTorch's IndexError names the label but not the row."""
    checked(logits, labels, ignore_index)
    loss = F.cross_entropy(logits.float(), labels, ignore_index=ignore_index, reduction="none")
    return loss, torch.logsumexp(logits.float(), 1)


def torch_backward(dloss: Tensor, logits: Tensor, labels: Tensor, lse: Tensor, ignore_index: int = -100) -> Tensor:
    """PyTorch's gradient in float32, rounded at the end: in half precision it rounds log p, which costs 74 ulp."""
    x = logits.float().requires_grad_()
    loss = F.cross_entropy(x, labels, ignore_index=ignore_index, reduction="none")
    return torch.autograd.grad(loss, x, dloss)[0].to(logits.dtype)


REASON = (
    "A float32 sum of V exponentials, in any order, loses √V + V / 32 ulp; lse and the label's logit are each rounded "
    "before one is subtracted from the other, so the loss is as good as they are large, and p as good as x - lse is."
)
ANSWERS = frozenset(
    "cross_entropy cross_entropy_loss nll_loss nll_loss_nd log_softmax _log_softmax softmax _softmax logsumexp".split()
)

NEXT_ROW = WildBug(
    who="Liger-Kernel before 0.5.5",
    thread="linkedin/Liger-Kernel#588",
    function=wild.label_logits_next_row,
    seen_by="a label of V",
    story=(
        "The label was added to the row's address unchecked, so label V was the next row's first logit: a finite loss."
    ),
)
GUARD = WildBug(
    who="Liger-Kernel since 0.5.5",
    thread="linkedin/Liger-Kernel#588",
    function=wild.label_logits_liger_guard,
    seen_by="no rows",
    story="Its guard asks for the largest label, and an empty batch has none. Before the guard such a batch gave 0.",
)

label_logits = Exercise(
    name="label_logits",
    summary=(
        "x[i, label_i] for each row, 0 where label_i = ignore_index; IndexError for any other label outside 0 to V - 1"
    ),
    oracle=label_logit,
    outputs=(Output("own", "logits"),),
    cases=(
        *losses(checked=True, near_certain=False),
        case(
            "NaN at a label",
            "The logit of a label is NaN, and so is its result; no other is.",
            batch(5, 45),
            labels=draw.same.put(11, 2),
            logits=draw.same.put(torch.nan, 2, 11),
        ),
    ),
    tolerance=Tolerance(0, 0, "Nothing is computed: the numbers are copied."),
    hint="Find out first whether a label is one; then, which row is the first where it is not.",
    backends=("torch",),
    wild=(NEXT_ROW, GUARD),
    points=2,
    about=("a label of V", "a label far out of range", "a negative label"),
)

NO_MAX = WildBug(
    who="the formula without a maximum",
    thread="accepted by KernelBench, LeetGPU and Tensara",
    function=wild.cross_entropy_no_max,
    seen_by="large logits",
    story="log Σ e^x with nothing subtracted: infinite for logits above 88.7. A normal distribution never draws one.",
)
EPSILON = CommonMistake(
    who="-log(p + 1e-9), as many tutorials have it,",
    function=wild.cross_entropy_epsilon,
    seen_by="an unlikely label",
    story="No logarithm of 0 any more, and no loss above 20.7: below p = 1e-9 it neither grows nor has a gradient.",
)
PADDED = WildBug(
    who="verl before 2026-02",
    thread="volcengine/verl#2899",
    function=wild.cross_entropy_padded,
    seen_by="1000 classes",
    story="Classes that pad the vocabulary to a multiple of 256 had logit 0, and each of them adds e^0 = 1 to the sum.",
)
FIRST_BLOCK = WildBug(
    who="Liger-Kernel up to 0.8.5",
    thread="Dao-AILab/flash-attention#1930",
    function=wild.cross_entropy_first_block,
    seen_by="a first block of -inf",
    story=(
        "Its online softmax starts from a maximum of -inf. After a block of -inf that is -inf - -inf, a NaN for good."
    ),
)
MAX_FROM_ZERO = WildBug(
    who="FlagGems 5.0.2",
    thread="FlagGems 5.0.2, ops/cross_entropy_loss.py",
    function=wild.cross_entropy_max_from_zero,
    seen_by="logits far below zero",
    story=(
        "Its running maximum starts at 0. Where all logits are near -200 every e^(x - 0) underflows, and log 0 is -inf."
    ),
)
NEXT_ROW_LOSS = replace(NEXT_ROW, function=wild.cross_entropy_next_row)

cross_entropy_forward = Exercise(
    name="cross_entropy_forward",
    summary="loss = lse - x[label], lse = log Σ e^x for each row; loss is 0 where label = ignore_index",
    oracle=losses_and_lse,
    outputs=(Output("loss", torch.float32), Output("lse", torch.float32)),
    cases=losses(checked=True, near_certain=True),
    tolerance=Tolerance(1, 8, REASON, forward_floor, forward_distinction),
    hint="Subtract the row's largest logit before e^x, and add it back after the logarithm.",
    refused=ANSWERS,
    allowed=frozenset({"_local_scalar_dense"}),
    peer=torch_forward,
    wild=(MAX_FROM_ZERO, NO_MAX, EPSILON, PADDED, FIRST_BLOCK, NEXT_ROW_LOSS),
    points=6,
    least_bytes=lambda logits, labels, ignore_index=-100: (
        int((labels != ignore_index).sum()) * logits.shape[1] * logits.element_size() + 16 * labels.numel()
    ),
    traffic=1.05,
    about=("large logits", "logits far below zero", "a first block of -inf"),
)

EACH_DLOSS = "a dloss for each row"
FIRST_DLOSS = WildBug(
    who="Liger-Kernel before 0.5.9",
    thread="linkedin/Liger-Kernel#678",
    function=wild.cross_entropy_backward_first_dloss,
    seen_by=EACH_DLOSS,
    story="Every row was scaled by the upstream gradient of the first. All of its tests passed a gradient of ones.",
)
READ_BACK = WildBug(
    who="Liger-Kernel in July 2026",
    thread="linkedin/Liger-Kernel#1329",
    function=wild.cross_entropy_backward_read_back,
    seen_by="a nearly certain label, bfloat16",
    story=(
        "p was stored in bfloat16 and read back for p - 1. At p = 0.999 that is 0: what is nearly learned is not "
        "learned."
    ),
)
ALL_ROWS = CommonMistake(
    who="a kernel that forgets the ignored rows",
    function=wild.cross_entropy_backward_all_rows,
    seen_by="some rows ignored",
    story="-100 is not a column, so nothing is subtracted in an ignored row, and p is what remains.",
)

cross_entropy_backward = Exercise(
    name="cross_entropy_backward",
    summary="dlogits = dloss · (p - 1 at the label, p elsewhere), p = e^(x - lse); 0 where label = ignore_index",
    oracle=cross_entropy_gradient,
    outputs=(Output("dlogits", "logits"),),
    cases=(
        *map(from_ones, losses(checked=False, near_certain=True, arguments=backward_arguments)),
        case(
            EACH_DLOSS,
            "Every row has a dloss of its own, some of them 0. Which element of dloss does a row take?",
            batch(29, 67),
            dloss=draw.gradient(29).put((1.3, -0.7), slice(2)),
        ),
        case(
            "dloss of stride 0",
            "What .sum() hands back: one number for all rows. dloss.stride() is (0,).",
            batch(29, 67),
            dloss=draw.without_zeros(29).one_number(),
        ),
        case(
            "tiny dloss, every second of a longer one",
            "dloss is about 1e-8, as with a mean over many tokens, and dloss.stride() is (2,). Is it compared with a "
            "constant or rounded, and is it read where its stride says?",
            batch(29, 67),
            dloss=draw.gradient(29).put((1.3, -0.7), slice(2)).scale(1e-8).every_second(),
        ),
        case("NaN in dloss", NAN_IN.format("dloss"), batch(9, 67), dloss=draw.gradient(9).put(torch.nan, 4)),
    ),
    tolerance=Tolerance(1, 8, REASON, backward_floor, lambda *args: backward_floor(*args, at_label=0.0)),
    hint="With p = e^(x - lse) there is no sum left to take: every element stands for itself.",
    refused=ANSWERS | {"autograd"},
    peer=torch_backward,
    wild=(FIRST_DLOSS, READ_BACK, ALL_ROWS),
    points=4,
    least_bytes=lambda dloss, logits, labels, lse, ignore_index=-100: (
        (int((labels != ignore_index).sum()) + len(labels)) * logits.shape[1] * logits.element_size() + 16 * len(labels)
    ),
    traffic=1.05,
    forward=cross_entropy_forward,
    about=(
        *("some rows ignored", "all rows ignored", "one row counts", "1 class"),
        *("ignore_index = 0", "ignore_index = -1", "ignore_index = V", "a nearly certain label, bfloat16", EACH_DLOSS),
    ),
)
