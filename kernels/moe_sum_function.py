"""The weighted sum of each token's rows as a model imports it: CUDA by Triton, elsewhere PyTorch."""

import torch
from torch import Tensor

from ..solutions import moe_sum as cpu
from .autograd import Function, gradient
from .language import as_matrix, check_tensors, describe, use_triton
from .moe_sum import moe_sum_backward, moe_sum_forward


@torch.library.custom_op("graded_kernels::moe_sum", mutates_args=())
def sums_of(rows: Tensor, weights: Tensor, slots: Tensor) -> Tensor:
    return (moe_sum_forward if use_triton(rows) else cpu.moe_sum_forward)(rows, weights, slots)


@torch.library.custom_op("graded_kernels::moe_sum_backward", mutates_args=())
def row_and_weight_gradients(dy: Tensor, rows: Tensor, weights: Tensor, slots: Tensor) -> tuple[Tensor, Tensor]:
    return (moe_sum_backward if use_triton(rows) else cpu.moe_sum_backward)(dy, rows, weights, slots)


sums_of.register_fake(lambda rows, weights, slots: rows.new_empty(slots.shape[0], rows.shape[1]))
row_and_weight_gradients.register_fake(
    lambda dy, rows, weights, slots: (torch.empty_like(rows), torch.empty_like(weights))
)


class MoeSumFunction(Function):
    """Over a matrix of rows. Saves what it is given."""

    @staticmethod
    def forward(rows, weights, slots):
        return sums_of(rows, weights, slots)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, dy):
        return *gradient("moe_sum", row_and_weight_gradients, dy, *ctx.saved_tensors), None


def moe_sum(rows: torch.Tensor, weights: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
    """Σ_j weights[..., j] · rows[slots[..., j]] for each token, differentiable once in rows and weights.

    rows: (S, D)   weights: (..., k) float32, or float64 where rows are   slots: (..., k) int64, -1 where a token has no
    row; no two refer to one row. y: (..., D), like rows. CUDA: Triton, for which the host waits once; elsewhere
    PyTorch. The op is opaque to torch.compile. Raises IndexError for a slot that is neither -1 nor a row, ValueError
    for shapes, dtypes and devices that do not fit.
    """
    check_tensors("moe_sum", 2, rows=rows, weights=weights, slots=slots)
    wide = torch.promote_types(rows.dtype, torch.float32)
    if rows.dim() != 2 or weights.dtype != wide or weights.dim() < 1:
        wanted = f"moe_sum: rows are (S, D) and weights (..., k) {str(wide).removeprefix('torch.')}"
        raise ValueError(f"{wanted}; they are {describe(rows)} and {describe(weights)}")
    if slots.dtype != torch.int64 or slots.shape != weights.shape:
        wanted = f"moe_sum: weights are {describe(weights)}, so slots must be {tuple(weights.shape)} int64"
        raise ValueError(f"{wanted}; they are {describe(slots)}")
    y = MoeSumFunction.apply(rows, as_matrix(weights).contiguous(), as_matrix(slots).contiguous())
    return y.reshape(*weights.shape[:-1], rows.shape[1])
