"""Cross-entropy of logits as a training script imports it: CUDA by Triton, elsewhere PyTorch.

It gives one float32 loss for each label (float64 for float64 input), and a mean, a sum or all of them. Labels are
checked, which on CUDA makes the host wait for the device once; ``trusted=True`` leaves that out. A label that is out of
range then gives a loss of NaN and is never an address. The op is opaque to torch.compile, which cannot trace a check of
values, and differentiable once.
"""

import torch
from torch import Tensor

from ..solutions import cross_entropy as cpu
from .autograd import Function, gradient
from .cross_entropy import cross_entropy_backward, cross_entropy_forward, losses
from .language import as_matrix, check_tensors, describe, use_triton


def cross_entropy(
    logits: torch.Tensor,
    labels: torch.Tensor,
    ignore_index: int = -100,
    reduction: str = "mean",
    num_items: int | torch.Tensor | None = None,
    *,
    trusted: bool = False,
) -> torch.Tensor:
    """Cross-entropy of logits (..., V) with labels (...), int64. As F.cross_entropy, but classes are the last axis.

    reduction: "mean" over the labels that are not ignore_index, "sum", or "none". num_items: the divisor of the mean,
    where it is not this batch's own: the tokens of all micro-batches and processes. Without a token the mean is 0, its
    gradient zeros, attached to the graph; F.cross_entropy gives NaN there. Raises IndexError for a label out of range,
    ValueError for shapes, dtypes or devices that do not fit, another reduction, or num_items without a mean.
    """
    check_tensors("cross_entropy", 1, logits=logits, labels=labels)
    check(logits, labels, "logits", reduction, num_items)
    if not logits.shape[-1]:
        raise ValueError(f"cross_entropy: logits are (..., V) with a class at least; they are {describe(logits)}")
    rows = as_matrix(logits).contiguous()
    loss, _ = CrossEntropyFunction.apply(rows, labels.reshape(-1).contiguous(), ignore_index, trusted)
    return reduced(loss, labels, ignore_index, reduction, num_items)


def check(
    x: torch.Tensor, labels: torch.Tensor, name: str, reduction: str, num_items: int | torch.Tensor | None
) -> None:
    if labels.shape != x.shape[:-1] or labels.dtype != torch.int64:
        wanted = f"{tuple(x.shape[:-1])} int64"
        raise ValueError(f"{name} is {describe(x)}, so labels must be {wanted}; they are {describe(labels)}")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    if num_items is not None and reduction != "mean":
        raise ValueError(f"num_items is the divisor of a mean; with reduction={reduction!r} nothing is divided")


def reduced(
    loss: torch.Tensor, labels: torch.Tensor, ignore_index: int, reduction: str, num_items: int | torch.Tensor | None
) -> torch.Tensor:
    if reduction == "none":
        return loss.reshape(labels.shape)
    if reduction == "sum":
        return loss.sum()
    if isinstance(num_items, int | float):  # filled in on the device: for a copy the host would wait
        num_items = torch.full((), num_items, device=loss.device)
    return cpu.token_mean(loss, labels.reshape(-1), ignore_index, num_items)


@torch.library.custom_op("graded_kernels::cross_entropy", mutates_args=())
def row_losses(logits: Tensor, labels: Tensor, ignore_index: int, trusted: bool) -> tuple[Tensor, Tensor]:
    """(loss, lse) for each row."""
    if not use_triton(logits):
        return cpu.cross_entropy_forward(logits, labels, ignore_index)
    return (losses if trusted else cross_entropy_forward)(logits, labels, ignore_index)


@torch.library.custom_op("graded_kernels::cross_entropy_backward", mutates_args=())
def row_gradients(dloss: Tensor, logits: Tensor, labels: Tensor, lse: Tensor, ignore_index: int) -> Tensor:
    backward = cross_entropy_backward if use_triton(logits) else cpu.cross_entropy_backward
    return backward(dloss, logits, labels, lse, ignore_index)


def loss_like(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return x.new_empty(labels.shape, dtype=torch.promote_types(x.dtype, torch.float32))


row_losses.register_fake(lambda logits, labels, *_: (loss_like(logits, labels), loss_like(logits, labels)))
row_gradients.register_fake(lambda dloss, logits, *_: torch.empty_like(logits))


class CrossEntropyFunction(Function):
    """(loss, lse) for each row. Saves logits, labels and lse."""

    @staticmethod
    def forward(logits, labels, ignore_index, trusted):
        return row_losses(logits, labels, ignore_index, trusted)

    @staticmethod
    def setup_context(ctx, inputs, output):
        logits, labels, ctx.ignore_index, _ = inputs
        _, lse = output
        ctx.mark_non_differentiable(lse)
        ctx.save_for_backward(logits, labels, lse)

    @staticmethod
    def backward(ctx, dloss, _):
        dlogits = gradient("cross_entropy", row_gradients, dloss, *ctx.saved_tensors, ctx.ignore_index)
        return dlogits, None, None, None
