"""Cross-entropy as it shipped, bug for bug. Where a library computes in float32, so do these.

Each returns what its exercise asks for: the label's logit, (loss, lse) for each row, or dlogits.
"""

import torch
from torch.nn import functional as F

LIGER_BLOCK = 32_768  # Liger's MAX_FUSED_SIZE


def label_logits_next_row(logits, labels, ignore_index=-100):
    """Liger-Kernel up to 0.5.4: the label is added to the row's address unchecked. Label V is the next row's first
    logit.

    Fixed by github.com/linkedin/Liger-Kernel/pull/588 (2025-02-24). What lies before the first row and behind the last
    one is anybody's; here it is the nearest logit.
    """
    M, V = logits.shape
    place = (torch.arange(M) * V + labels).clamp(0, max(M * V - 1, 0))
    return logits.reshape(-1)[place].masked_fill(labels == ignore_index, 0)


def label_logits_liger_guard(logits, labels, ignore_index=-100):
    """Liger-Kernel since 0.5.5: the guard of pull request 588. It takes the largest label, and an empty batch has none.

    github.com/linkedin/Liger-Kernel/pull/588; still so in 0.8.5, where 0.3.0 returned 0 for such a batch.
    """
    mask = labels != ignore_index
    assert (labels * mask).max() < logits.shape[-1], f"Target {labels.max()} is out of bounds"
    assert (labels * mask).min() >= 0, f"Target {labels.min()} is out of bounds"
    return label_logits_next_row(logits, labels, ignore_index)


def cross_entropy_no_max(logits, labels, ignore_index=-100):
    """log Σ e^x as it stands in the book, with nothing subtracted: infinite from x = 88.7 on, -infinite below -103.

    Accepted by KernelBench, LeetGPU and Tensara, whose inputs are drawn from a normal distribution.
    """
    x = logits.float()
    lse = x.exp().sum(1).log()
    return _losses(x, labels, lse, ignore_index)


def cross_entropy_epsilon(logits, labels, ignore_index=-100):
    """-log(p + 1e-9), so that the logarithm never sees 0: no loss is above 20.7, and the rarest tokens teach nothing.

    Copied from tutorial to tutorial, with 1e-7 to 1e-12. In float16 1e-9 is 0, and changes nothing.
    """
    x = logits.float()
    top = x.amax(1, keepdim=True)
    e = (x - top).exp()
    own = (e / e.sum(1, keepdim=True)).gather(1, labels.clamp(min=0).unsqueeze(1)).squeeze(1)
    loss = -(own + 1e-9).log()
    lse = top.squeeze(1) + e.sum(1).log()
    return loss.masked_fill(labels == ignore_index, 0), lse


def cross_entropy_padded(logits, labels, ignore_index=-100):
    """verl: a vocabulary that is not a multiple of 256 is padded with logits of 0, each of which adds e^0 to the sum.

    github.com/volcengine/verl/issues/2899 (2025-08-04), fixed by pull request 5349 (2026-02-18): tl.where(mask, x,
    -inf).
    """
    x = logits.float()
    padded = F.pad(x, (0, -x.shape[1] % 256))
    return _losses(x, labels, _safe_lse(padded), ignore_index)


def cross_entropy_first_block(logits, labels, ignore_index=-100):
    """Liger-Kernel up to 0.8.5 and flash-attention: an online softmax whose first block is all -inf gives NaN.

    github.com/Dao-AILab/flash-attention/issues/1930 (2025-10-09, open). The running maximum is -inf before and after
    that block, and e^(-inf - -inf) is NaN.
    """
    x = logits.float()
    top = torch.full_like(x[:, 0], -torch.inf)
    total = torch.zeros_like(top)
    for block in x.split(LIGER_BLOCK, dim=1):
        new_top = torch.maximum(top, block.amax(1))
        total = total * (top - new_top).exp() + (block - new_top.unsqueeze(1)).exp().sum(1)
        top = new_top
    return _losses(x, labels, top + total.log(), ignore_index)


def cross_entropy_max_from_zero(logits, labels, ignore_index=-100):
    """FlagGems 5.0.2: the running maximum starts at 0. Where all logits are far below, every e^(x - 0) is 0."""
    x = logits.float()
    top = x.amax(1, keepdim=True).clamp(min=0)
    return _losses(x, labels, top.squeeze(1) + (x - top).exp().sum(1).log(), ignore_index)


def cross_entropy_next_row(logits, labels, ignore_index=-100):
    """Liger-Kernel up to 0.5.4: as label_logits_next_row, in the loss. Label V gives a finite loss and no complaint."""
    x = logits.float()
    lse = _safe_lse(x)
    loss = lse - label_logits_next_row(x, labels, ignore_index)
    return loss.masked_fill(labels == ignore_index, 0), lse


def cross_entropy_backward_first_dloss(dloss, logits, labels, lse, ignore_index=-100):
    """Liger-Kernel: with reduction="none", every row was scaled by grad_output[0].

    github.com/linkedin/Liger-Kernel/issues/678 (2025-04, fixed in 0.5.9 by pull request 680), and again in the fused
    linear layer, issue 968, until 0.8.2 (pull request 1298, 2026-07-30). The tests passed a gradient of ones.
    """
    scale = dloss[:1].expand_as(dloss).unsqueeze(1)
    return (_slope(logits, labels, lse, ignore_index) * scale).to(logits.dtype)


def cross_entropy_backward_read_back(dloss, logits, labels, lse, ignore_index=-100):
    """Liger-Kernel, July 2026, never released: p is stored in the dtype of the logits, then read back for p - 1.

    github.com/linkedin/Liger-Kernel/pull/1268 (2026-07-28), fixed by pull request 1329 (2026-08-03). At p = 0.999 in
    bfloat16 the label's gradient is 0. Random logits never have such a p.
    """
    keep = (labels != ignore_index).unsqueeze(1)
    stored = ((logits.float() - lse.unsqueeze(1)).exp() * dloss.unsqueeze(1)).to(logits.dtype)
    column = labels.unsqueeze(1).clamp(min=0)
    own = (stored.gather(1, column).float() - dloss.unsqueeze(1)).to(logits.dtype)
    return stored.scatter(1, column, own).masked_fill(~keep, 0)


def cross_entropy_backward_all_rows(dloss, logits, labels, lse, ignore_index=-100):
    """Compares columns with the label and forgets the ignored rows: -100 is not a column, so p remains."""
    one = torch.arange(logits.shape[1]) == labels.unsqueeze(1)
    slope = (logits.float() - lse.unsqueeze(1)).exp() - one.float()
    return (slope * dloss.unsqueeze(1)).to(logits.dtype)


def _slope(logits, labels, lse, ignore_index):
    """p - 1 at the label, p elsewhere, 0 in ignored rows."""
    one = torch.arange(logits.shape[1]) == labels.unsqueeze(1)
    slope = (logits.float() - lse.unsqueeze(1)).exp() - one.float()
    return slope.masked_fill((labels == ignore_index).unsqueeze(1), 0)


def _safe_lse(x):
    top = x.amax(1, keepdim=True)
    top = top.masked_fill(top == -torch.inf, 0)
    return top.squeeze(1) + (x - top).exp().sum(1).log()


def _losses(x, labels, lse, ignore_index):
    own = x.gather(1, labels.clamp(min=0).unsqueeze(1)).squeeze(1)
    return (lse - own).masked_fill(labels == ignore_index, 0), lse


def mean_cross_entropy_ratio(logits, labels, ignore_index=-100):
    """The mean of Liger-Kernel 0.0.1 to 0.2.1: ``n_non_ignore / total_n_non_ignore``, both Python integers.

    github.com/linkedin/Liger-Kernel/issues/177 (2024-08-30): ZeroDivisionError where no label counts. Fixed in 0.3.0 by
    pull request 153. The one test drew the number of ignored tokens from 1 to half of them.
    """
    total_n_non_ignore = (labels != ignore_index).sum().item()
    loss = torch.zeros(())
    for x, y in zip(logits.float().split(1024), labels.split(1024), strict=True):
        n_non_ignore = (y != ignore_index).sum().item()
        share = n_non_ignore / total_n_non_ignore
        loss = loss + _losses(x, y, _safe_lse(x), ignore_index)[0].sum() / max(n_non_ignore, 1) * share
    return loss


def loss_from_lse(logits, labels):
    """A fused kernel for PyTorch's linear_cross_entropy takes the loss of lse: the logarithm of the sum is added to the
    maximum, and the label's logit subtracted after that. Logits with a large common part lose the digits.

    Found in review of github.com/pytorch/pytorch/pull/195829 (2026-09-15, open).
    """
    v = logits.float()
    top = v.amax(1)
    lse = top + (v - top.unsqueeze(1)).exp().sum(1).log()
    return lse - v.gather(1, labels.unsqueeze(1)).squeeze(1)
