"""The fused last layer and loss as it shipped, bug for bug: (loss, dhidden, dweight), the mean over the rows that
count.

What is not the bug is computed in float32, which no library does for half precision.
"""

import torch


def linear_cross_entropy_ratio(hidden, weight, labels, ignore_index=-100):
    """Liger-Kernel 0.0.1 to 0.2.1: ``n_non_ignore / total_n_non_ignore`` of two Python integers.

    github.com/linkedin/Liger-Kernel/issues/177 (2024-08-30, its line 114): ZeroDivisionError where no label counts,
    and, from triton.cdiv, for an empty batch. Fixed in 0.3.0 by pull request 153.
    """
    total_n_non_ignore = (labels != ignore_index).sum().item()
    return _chunked(hidden, weight, labels, ignore_index, lambda n_non_ignore: n_non_ignore.item() / total_n_non_ignore)


def linear_cross_entropy_silent_ratio(hidden, weight, labels, ignore_index=-100):
    """Liger-Kernel's main branch from 2024-09-09 to 09-13: the same ratio without .item(), so 0 / 0 is NaN and no
    error.

    Pull request 237 (commit acd82728). Never released.
    """
    total_n_non_ignore = (labels != ignore_index).sum()
    return _chunked(hidden, weight, labels, ignore_index, lambda n_non_ignore: n_non_ignore / total_n_non_ignore)


def linear_cross_entropy_no_rows(hidden, weight, labels, ignore_index=-100):
    """Liger-Kernel 0.3.0 to 0.8.5: no label that counts gives 0, and an empty batch still ZeroDivisionError.

    The number of rows in a chunk is next_power_of_2(0) = 0, and the number of chunks cdiv(0, 0). For a vocabulary of 0
    rows the same two lines are github.com/linkedin/Liger-Kernel/issues/767.
    """
    total = (labels != ignore_index).sum().clamp(min=1)
    return _chunked(hidden, weight, labels, ignore_index, lambda n_non_ignore: n_non_ignore / total)


def linear_cross_entropy_mean_of_chunks(hidden, weight, labels, ignore_index=-100):
    """Each chunk's mean, averaged over the chunks, although one of them may hold few labels that count, or none.

    The mistake of gradient accumulation (github.com/huggingface/transformers/pull/34191), made between chunks.
    """
    counts = [int((y != ignore_index).sum()) for y in labels.split(_chunk_size(hidden, weight))]
    chunks = max(sum(c > 0 for c in counts), 1)
    return _chunked(hidden, weight, labels, ignore_index, lambda n_non_ignore: (n_non_ignore > 0) / chunks)


def _chunk_size(hidden, weight):
    """The number of rows that make a chunk's logits no larger than hidden, up to a power of two."""
    M, (V, D) = hidden.shape[0], weight.shape
    rows = -(-M // -(-V // D))
    power = 1 << (rows - 1).bit_length() if rows else 0
    chunks = -(-M // power)
    return power if chunks else 1


def _chunked(hidden, weight, labels, ignore_index, share):
    """share: of a chunk's mean in the whole, from the number of its labels that count."""
    h, w = hidden.float(), weight.float()
    loss, dhidden, dweight = torch.zeros(()), torch.zeros_like(h), torch.zeros_like(w)
    size = _chunk_size(hidden, weight)
    for start in range(0, len(labels), size):
        x, y = h[start : start + size], labels[start : start + size]
        keep = y != ignore_index
        scale = share(keep.sum()) / keep.sum().clamp(min=1)
        logits = x @ w.t()
        top = logits.amax(1, keepdim=True)
        lse = top + (logits - top).exp().sum(1, keepdim=True).log()
        column = y.where(keep, 0).unsqueeze(1)
        loss = loss + ((lse - logits.gather(1, column)).squeeze(1).where(keep, 0) * scale).sum()
        one = torch.zeros_like(logits).scatter(1, column, 1.0)
        slope = ((logits - lse).exp() - one).where(keep.unsqueeze(1), 0) * scale
        dhidden[start : start + size] = slope @ w
        dweight += slope.t() @ x
    return loss, dhidden.to(hidden.dtype), dweight.to(weight.dtype)
