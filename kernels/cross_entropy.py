"""Cross-entropy in Triton: one loss for each row of logits.

    loss_i = lse_i - x_i[label_i],   lse_i = log Σ_j e^(x_ij)
    dx_ij  = dloss_i · (p_ij - [j = label_i]),   p_ij = e^(x_ij - lse_i)

logits: (M, V)   labels: (M,) int64   loss, lse, dloss: (M,) float32. Float32 inside, rounded once at the store. Forward
reads the logits once, by an online softmax (Milakov and Gimelshein 2018, arXiv:1805.02867); backward reads them once
and writes dlogits. Rows that are ignored are not read at all. A label is checked before it becomes an address.
"""

import torch

from .language import tl, triton

# %% cross_entropy_forward
BLOCK = 4096


@triton.jit
def first_bad_label_kernel(labels_ptr, first_ptr, M, V, ignore_index, BLOCK: tl.constexpr):
    """One program: the first row whose label is neither a class nor ignore_index; M where there is none."""
    first = M
    for start in range(0, M, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        label = tl.load(labels_ptr + rows, mask=rows < M, other=ignore_index)
        bad = (label != ignore_index) & ((label < 0) | (label >= V))
        first = tl.minimum(first, tl.min(tl.where(bad, rows, M)))
    tl.store(first_ptr, first)


def check_labels(labels: torch.Tensor, V: int, ignore_index: int) -> None:
    """Raises IndexError, with the first such row, where a label is neither a class nor ignore_index."""
    labels = labels.contiguous()
    first = torch.empty(1, dtype=torch.int64, device=labels.device)
    first_bad_label_kernel[(1,)](labels, first, labels.numel(), V, ignore_index, BLOCK=1024)
    row = int(first)
    if row < labels.numel():
        value = labels[row].item()
        raise IndexError(f"labels[{row}] is {value}: no class, 0 to {V - 1}, and not ignore_index = {ignore_index}")


@triton.jit
def softplus(x):
    """log(1 + e^x) with all its digits, also where 1 + e^x is 1 in float32."""
    e = tl.exp(-tl.abs(x))
    u = 1.0 + e
    log1p = tl.where(u == 1.0, e, tl.log(u) * (e / tl.where(u == 1.0, 1.0, u - 1.0)))  # u's rounding cancels
    return tl.maximum(x, 0.0) + log1p


@triton.jit
def exp_normal(x):
    """e^x, and 0 where that is subnormal: for subnormal results `tl.exp` takes three instructions more."""
    return tl.exp2(x * 1.4426950408889634)


@triton.jit
def add_rows(top, total, x):
    """(top, total) with x (K, LANES) in it: the largest number of each lane so far, and Σ e^(x - top) of it."""
    new_top = tl.maximum(top, tl.max(x, 0))
    return new_top, total * tl.exp(top - new_top) + tl.sum(exp_normal(x - new_top[None, :]), 0)


@triton.jit
def cross_entropy_forward_kernel(
    logits_ptr, labels_ptr, loss_ptr, lse_ptr, V, ignore_index, K: tl.constexpr, LANES: tl.constexpr
):
    """Program i does row i, K · LANES logits at a time. No lane waits for another before the end."""
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels_ptr + row)
    if label == ignore_index:
        tl.store(loss_ptr + row, 0.0)
        tl.store(lse_ptr + row, 0.0)
        return
    logits_ptr += row * V
    own = tl.load(logits_ptr + label, mask=(label >= 0) & (label < V), other=float("nan")).to(tl.float32)
    top = tl.full((LANES,), -3.4028234663852886e38, tl.float32)  # finite: -inf - -inf is NaN
    total = tl.zeros((LANES,), tl.float32)  # Σ e^(x - top), the label's own left out
    lanes = tl.arange(0, LANES)[None, :]
    block = tl.arange(0, K)[:, None] * LANES + lanes
    whole = V // (K * LANES) * (K * LANES)
    for start in range(0, whole, K * LANES):
        x = tl.load(logits_ptr + start + block).to(tl.float32)
        if (label >= start) & (label < start + K * LANES):  # a mask would part what is loaded at once
            x = tl.where(start + block == label, float("-inf"), x)
        top, total = add_rows(top, total, x)
    for start in range(whole, V, LANES):  # the rest, lanes by lanes: masks for all would be a third of the instructions
        cols = start + lanes
        x = tl.load(logits_ptr + cols, mask=cols < V, other=float("-inf")).to(tl.float32)
        top, total = add_rows(top, total, tl.where(cols == label, float("-inf"), x))
    row_top = tl.max(top)
    others = row_top + tl.log(tl.sum(total * tl.exp(top - row_top)))
    tl.store(loss_ptr + row, softplus(others - own))
    tl.store(lse_ptr + row, tl.maximum(own, others) + softplus(-tl.abs(own - others)))


def losses(logits: torch.Tensor, labels: torch.Tensor, ignore_index: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(loss, lse) without a look at the labels beforehand. Where one is out of range both are NaN."""
    logits = logits.contiguous()
    labels = labels.contiguous()
    M, V = logits.shape
    loss = torch.empty(M, dtype=torch.float32, device=logits.device)
    lse = torch.empty_like(loss)
    lanes = min(triton.next_power_of_2(V), BLOCK // 4)
    if M:
        cross_entropy_forward_kernel[(M,)](
            logits, labels, loss, lse, V, ignore_index, K=4, LANES=lanes, num_warps=max(lanes // 256, 1)
        )
    return loss, lse


def cross_entropy_forward(
    logits: torch.Tensor, labels: torch.Tensor, ignore_index: int = -100
) -> tuple[torch.Tensor, torch.Tensor]:
    """(loss, lse): (M,) each, both 0 where the label is ignore_index. Raises IndexError for a label out of range."""
    check_labels(labels, logits.shape[1], ignore_index)
    return losses(logits, labels, ignore_index)


# %% cross_entropy_backward
@triton.jit
def expm1(x):
    """e^x - 1 for x <= 0 with all its digits, also where e^x is nearly 1."""
    u = tl.exp(x)
    near = (u > 0.5) & (u != 1.0)
    small = (u - 1.0) * (x / tl.log(tl.where(near, u, 0.5)))  # u's rounding cancels
    return tl.where(near, small, tl.where(u == 1.0, x, u - 1.0))


@triton.jit
def cross_entropy_backward_kernel(
    dloss_ptr, logits_ptr, labels_ptr, lse_ptr, dlogits_ptr, V, ignore_index, BLOCK: tl.constexpr
):
    """Program (i, j) does block j of row i."""
    row = tl.program_id(0).to(tl.int64)
    first = tl.program_id(1) * BLOCK
    cols = first + tl.arange(0, BLOCK)
    label = tl.load(labels_ptr + row)
    keep = label != ignore_index  # of a row that is ignored nothing is read, and dloss is 0
    mask = cols < V

    logits_ptr += row * V
    x = tl.load(logits_ptr + cols, mask=mask & keep, other=0.0).to(tl.float32)
    own = tl.load(logits_ptr + label, mask=keep & (label >= 0) & (label < V), other=0.0).to(tl.float32)
    lse = tl.load(lse_ptr + row, mask=keep, other=0.0)
    dloss = tl.load(dloss_ptr + row, mask=keep, other=0.0).to(tl.float32)

    slope = exp_normal(x - lse)  # p
    if (label >= first) & (label < first + BLOCK):
        slope = tl.where(cols == label, expm1(own - lse), slope)  # p - 1
    dlogits = dloss * slope

    tl.store(dlogits_ptr + row * V + cols, dlogits.to(dlogits_ptr.dtype.element_ty), mask=mask)


def cross_entropy_backward(
    dloss: torch.Tensor, logits: torch.Tensor, labels: torch.Tensor, lse: torch.Tensor, ignore_index: int = -100
) -> torch.Tensor:
    """dlogits, like logits, from what cross_entropy_forward returned as lse. Rows that are ignored get 0."""
    dloss, logits = dloss.contiguous(), logits.contiguous()
    labels, lse = labels.contiguous(), lse.contiguous()
    dlogits = torch.empty_like(logits)
    M, V = logits.shape
    block = min(triton.next_power_of_2(V), BLOCK)
    if logits.numel():
        cross_entropy_backward_kernel[(M, triton.cdiv(V, block))](
            dloss, logits, labels, lse, dlogits, V, ignore_index, BLOCK=block, num_warps=max(block // 1024, 1)
        )
    return dlogits
