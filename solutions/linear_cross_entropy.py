"""The last layer and its loss in one, in PyTorch: the logits exist for a few rows at a time, never for all.

    loss = Σ_i (lse_i - x_i[label_i]) / n,   x = hidden @ weightᵀ
    dhidden = dx @ weight,   dweight = dxᵀ @ hidden,   dx_ij = (p_ij - [j = label_i]) / n

hidden: (M, D)   weight: (V, D)   labels: (M,) int64   x: (M, V), of which at most 1/32, or 16 rows, is held at once.
n: the number of rows that count; the others are left out of every product. In float32 (float64 for float64 input).
Wijmans et al. 2024, arXiv:2411.09009; Hsu et al. 2024 (Liger Kernel), arXiv:2410.10989.
"""

import torch

from .cross_entropy import check_labels, cross_entropy_backward, cross_entropy_forward


def __getattr__(name: str):
    """``linear_cross_entropy`` is what chapters of 20 November 2026 call the answer."""
    if name == "linear_cross_entropy":
        return linear_cross_entropy_forward_backward
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# %% linear_cross_entropy_forward_backward
def linear_rows(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    labels: torch.Tensor,
    kept: torch.Tensor,
    ignore_index: int,
    dloss: torch.Tensor | None = None,
) -> tuple:
    """(loss, dhidden, dweight): the loss of each row in ``kept``, and the gradients for its upstream gradient dloss.

    kept: (n,) int64, the rows that count. Without dloss the gradients are None and nothing is computed for them.
    """
    wide = torch.promote_types(weight.dtype, torch.float32)
    w = weight.to(wide)
    loss = torch.empty(len(kept), dtype=wide, device=hidden.device)
    if dloss is not None:
        dhidden, dweight = torch.zeros_like(hidden), torch.zeros_like(w)
    size = max(16, -(-len(kept) // 32))
    for start in range(0, len(kept), size):
        rows = kept[start : start + size]
        x, y = hidden[rows].to(wide), labels[rows]
        logits = x @ w.t()
        loss[start : start + size], lse = cross_entropy_forward(logits, y, ignore_index)
        if dloss is not None:
            dlogits = cross_entropy_backward(dloss[start : start + size], logits, y, lse, ignore_index)
            dhidden[rows] = (dlogits @ w).to(hidden.dtype)
            dweight += dlogits.t() @ x
    return (loss, None, None) if dloss is None else (loss, dhidden, dweight.to(weight.dtype))


def linear_cross_entropy_forward_backward(
    hidden: torch.Tensor, weight: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(loss, dhidden, dweight): the mean over the rows that count, in float32, and its gradients, like their tensors.

    Where no row counts all three are 0. Raises IndexError for a label out of range.
    """
    check_labels(labels, weight.shape[0], ignore_index)
    kept = (labels != ignore_index).nonzero().squeeze(1)
    items = max(len(kept), 1)
    dloss = torch.full((len(kept),), 1 / items, dtype=torch.promote_types(weight.dtype, torch.float32))
    loss, dhidden, dweight = linear_rows(hidden, weight, labels, kept, ignore_index, dloss.to(hidden.device))
    return loss.sum() / items, dhidden, dweight
