"""Cross-entropy in PyTorch: one loss for each row of logits, and their mean over the tokens that count.

    loss_i = lse_i - x_i[label_i],   lse_i = log Σ_j e^(x_ij)
    dx_ij  = dloss_i · (p_ij - [j = label_i]),   p_ij = e^(x_ij - lse_i)
    mean   = Σ_i loss_i / the number of rows whose label is not ignore_index

logits: (M, V)   labels: (M,) int64   loss, lse, dloss: (M,) float32. In float32 (float64 for float64 logits), rounded
once at the end. The loss is computed as log(1 + e^(others - x[label])), where others is lse without the label's own
term: lse - x[label] would lose all its digits where the label is nearly certain. What was just made is changed
in place: on a CPU a quarter of a large call's time went into fresh memory.
"""

import torch


# %% label_logits
def check_labels(labels: torch.Tensor, V: int, ignore_index: int) -> None:
    """Raises IndexError, with the first such row, where a label is neither a class nor ignore_index."""
    bad = (labels != ignore_index) & ((labels < 0) | (labels >= V))
    if bad.any():
        row = int(bad.int().argmax())
        raise IndexError(
            f"labels[{row}] is {labels[row]}: no class, 0 to {V - 1}, and not ignore_index = {ignore_index}"
        )


def label_logits(logits: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100) -> torch.Tensor:
    """The logit of each row's label, (M,) in the dtype of logits; 0 where the label is ignore_index.

    Raises IndexError, with the first such row and its label, where a label is neither a class, 0 to V - 1, nor
    ignore_index.
    """
    check_labels(labels, logits.shape[1], ignore_index)
    keep = labels != ignore_index
    own = logits.gather(1, labels.where(keep, 0).unsqueeze(1)).squeeze(1)
    return own.where(keep, 0)


# %% cross_entropy_forward
def log_sum_exp(x: torch.Tensor) -> torch.Tensor:
    """log Σ e^x of each row; -inf where all of the row is -inf."""
    top = x.amax(1, keepdim=True)
    top = top.masked_fill(top == -torch.inf, 0)  # -inf - -inf is NaN
    return top.squeeze(1) + (x - top).exp_().sum(1).log()


def cross_entropy_forward(
    logits: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100
) -> tuple[torch.Tensor, torch.Tensor]:
    """(loss, lse): (M,) each, both 0 where the label is ignore_index. Raises IndexError for a label out of range."""
    keep = labels != ignore_index
    x = logits.to(torch.promote_types(logits.dtype, torch.float32))
    own = label_logits(x, labels, ignore_index)
    others = log_sum_exp(x.scatter(1, labels.where(keep, 0).unsqueeze(1), -torch.inf))
    loss = torch.logaddexp(others - own, torch.zeros_like(own))
    return loss.where(keep, 0), torch.logaddexp(others, own).where(keep, 0)


# %% cross_entropy_backward
def cross_entropy_backward(
    dloss: torch.Tensor, logits: torch.Tensor, labels: torch.Tensor, lse: torch.Tensor, ignore_index: int = -100
) -> torch.Tensor:
    """dlogits, like logits, from what cross_entropy_forward returned as lse. Rows that are ignored get 0."""
    keep = (labels != ignore_index).unsqueeze(1)
    column = labels.unsqueeze(1).where(keep, 0)
    log_p = logits.to(torch.promote_types(logits.dtype, torch.float32)) - lse.unsqueeze(1)
    own = log_p.gather(1, column).expm1()  # p - 1: never as e^(log p) - 1, which cancels
    dlogits = log_p.exp_().scatter_(1, column, own).mul_(dloss.unsqueeze(1))
    return dlogits.masked_fill_(~keep, 0).to(logits.dtype)


# %% token_mean
def token_mean(
    loss: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100, num_items: int | torch.Tensor | None = None
) -> torch.Tensor:
    """The sum of loss over the rows that are not ignored, divided by their number, or by num_items if it is given.

    num_items: the tokens of the whole step, over all micro-batches and processes; a number or a tensor. Where the
    divisor is 0, so is the mean, with a gradient of zeros: it is still attached to the graph.
    """
    keep = labels != ignore_index
    items = keep.sum() if num_items is None else torch.as_tensor(num_items, device=loss.device)
    total = loss.where(keep, 0).sum()
    return torch.where(items > 0, total / items.clamp(min=1), 0)


# %% cross_entropy_witness
def cross_entropy_witness() -> tuple[torch.Tensor, torch.Tensor]:
    """(logits, labels), finite and in range, on which the mean of Liger-Kernel 0.2.1 is off by more than what rounding
    in float32 explains, as NaN is, and right code is not.
    At most 65,536 elements in all.
    """
    return torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, -3.0]]), torch.tensor([-100, -100])  # no row counts
