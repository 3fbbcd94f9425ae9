"""The last layer and its cross-entropy as a training script imports them: CUDA by Triton, elsewhere PyTorch.

Losses, labels, ``trusted`` and torch.compile: as in `cross_entropy_function`.
"""

import torch
from torch import Tensor

from ..solutions import cross_entropy as cpu
from ..solutions import linear_cross_entropy as cpu_linear
from .autograd import Function, gradient
from .cross_entropy import check_labels
from .cross_entropy_function import check, loss_like, reduced
from .language import as_matrix, check_tensors, describe, in_full, use_triton
from .linear_cross_entropy import linear_rows


def linear_cross_entropy(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    labels: torch.Tensor,
    ignore_index: int = -100,
    reduction: str = "mean",
    num_items: int | torch.Tensor | None = None,
    *,
    trusted: bool = False,
) -> torch.Tensor:
    """cross_entropy(hidden @ weight.T, labels), of whose logits a few rows at a time exist, and none for ignored
    labels.

    hidden: (..., D)   weight: (V, D)   labels: (...). Everything else as in `cross_entropy`. Backward makes the logits
    a second time: a third more arithmetic, and nothing kept between the two. With ``trusted`` the host does not wait
    for the number of labels that count either: it starts as many programs as if all did, and the rest end at once.
    """
    check_tensors("linear_cross_entropy", 1, hidden=hidden, weight=weight, labels=labels)
    check(hidden, labels, "hidden", reduction, num_items)
    if weight.dim() != 2 or weight.shape[1] != hidden.shape[-1]:
        raise ValueError(
            f"hidden is {describe(hidden)}, so weight must be (V, {hidden.shape[-1]}); it is {describe(weight)}"
        )
    if (hidden.dtype == torch.float64) != (weight.dtype == torch.float64):
        raise ValueError(
            f"hidden and weight are both float64 or neither; they are {describe(hidden)} and {describe(weight)}"
        )
    loss = LinearCrossEntropyFunction.apply(
        as_matrix(hidden).contiguous(), weight.contiguous(), labels.reshape(-1).contiguous(), ignore_index, trusted
    )
    return reduced(loss, labels, ignore_index, reduction, num_items)


@torch.library.custom_op("graded_kernels::linear_cross_entropy", mutates_args=())
def linear_losses(hidden: Tensor, weight: Tensor, labels: Tensor, ignore_index: int, trusted: bool) -> Tensor:
    """The loss for each row; 0 where it is ignored."""
    if not (trusted and use_triton(hidden)):
        (check_labels if use_triton(hidden) else cpu.check_labels)(labels, weight.shape[0], ignore_index)
    kept, loss, _, _ = _by_rows(hidden, weight, labels, ignore_index, trusted)
    return loss.new_zeros(labels.shape).index_copy_(0, kept, loss)


@torch.library.custom_op("graded_kernels::linear_cross_entropy_backward", mutates_args=())
def linear_gradients(
    dloss: Tensor, hidden: Tensor, weight: Tensor, labels: Tensor, ignore_index: int, trusted: bool
) -> tuple[Tensor, Tensor]:
    return _by_rows(hidden, weight, labels, ignore_index, trusted, dloss)[2:]


def _by_rows(hidden, weight, labels, ignore_index, trusted, dloss=None):
    """(kept, loss, dhidden, dweight): a few rows at a time; kept says which rows the losses belong to."""
    more = {}
    if trusted and use_triton(hidden):  # nonzero would make the host wait: all rows, those that count first
        kept = (labels == ignore_index).byte().argsort(stable=True)
        more["count"] = (labels != ignore_index).sum()
    else:
        kept = (labels != ignore_index).nonzero().view(-1)
    rows = linear_rows if use_triton(hidden) else cpu_linear.linear_rows
    if dloss is not None:
        dloss = dloss.index_select(0, kept)
    with in_full(hidden):
        return kept, *rows(hidden, weight, labels, kept, ignore_index, dloss, **more)


linear_losses.register_fake(lambda hidden, weight, labels, *_: loss_like(hidden, labels))
linear_gradients.register_fake(lambda dloss, hidden, weight, *_: (torch.empty_like(hidden), torch.empty_like(weight)))


class LinearCrossEntropyFunction(Function):
    """The loss for each row. Saves what it is given: backward makes the logits anew."""

    @staticmethod
    def forward(hidden, weight, labels, ignore_index, trusted):
        return linear_losses(hidden, weight, labels, ignore_index, trusted)

    @staticmethod
    def setup_context(ctx, inputs, output):
        *tensors, ctx.ignore_index, ctx.trusted = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx, dloss):
        more = *ctx.saved_tensors, ctx.ignore_index, ctx.trusted
        return *gradient("linear_cross_entropy", linear_gradients, dloss, *more), None, None, None
