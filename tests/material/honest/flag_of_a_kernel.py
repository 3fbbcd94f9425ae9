# exercise: cross_entropy_forward
# backend: triton
"""A kernel looks for bad labels and leaves the first such row in a tensor of zeros, which the host reads."""

import torch
import triton
import triton.language as tl


@triton.jit
def find_kernel(labels_ptr, row_ptr, M, V, ignore_index, stride, BLOCK: tl.constexpr):
    first = M
    for start in range(0, M, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        label = tl.load(labels_ptr + rows * stride, mask=rows < M, other=ignore_index)
        bad = (label != ignore_index) & ((label < 0) | (label >= V))
        first = tl.minimum(first, tl.min(tl.where(bad, rows, M)))
    tl.store(row_ptr, first)


@triton.jit
def loss_kernel(x_ptr, labels_ptr, loss_ptr, lse_ptr, V, ignore_index, sm, sv, sl, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels_ptr + row * sl)
    top, total = -float("inf"), 0.0
    for start in range(0, V, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * sm + columns * sv, mask=columns < V, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(top, tl.max(x))
        safe = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(top - safe) + tl.sum(tl.exp(x - safe))
        top = higher
    lse = top + tl.log(total)
    tl.store(lse_ptr + row, lse)
    counts = label != ignore_index
    own = tl.load(x_ptr + row * sm + label * sv, mask=counts, other=0.0).to(tl.float32)
    tl.store(loss_ptr + row, tl.where(counts, lse - own, 0.0))


def cross_entropy_forward(logits, labels, ignore_index=-100):
    M, V = logits.shape
    loss = torch.empty(M, dtype=torch.float32, device=logits.device)
    lse = torch.empty_like(loss)
    if M == 0:
        return loss, lse
    first = torch.zeros((), dtype=torch.int64, device=logits.device)
    find_kernel[(1,)](labels, first, M, V, ignore_index, labels.stride(0), BLOCK=64)
    row = first.item()
    if row < M:
        raise IndexError(f"labels[{row}] is {labels[row].item()}, outside [0, {V})")
    strides = (*logits.stride(), labels.stride(0))
    loss_kernel[(M,)](logits, labels, loss, lse, V, ignore_index, *strides, BLOCK=1024)
    return loss, lse
