# exercise: cross_entropy_forward
# backend: triton
"""Few programs take many rows each, one after the other; the counter of the loop is widened to 64 bits."""

import torch
import triton
import triton.language as tl


@triton.jit
def check_kernel(labels, bad, M, V, ignore, BLOCK: tl.constexpr):
    first = M
    for start in range(0, M, BLOCK):
        i = start + tl.arange(0, BLOCK)
        y = tl.load(labels + i, mask=i < M, other=0)
        wrong = (i < M) & (y != ignore) & ((y < 0) | (y >= V))
        first = tl.minimum(first, tl.min(tl.where(wrong, i, M), axis=0))
    tl.store(bad, first)
    tl.store(bad + 1, tl.load(labels + first, mask=first < M, other=0))


@triton.jit
def softmax_rows(
    loss, lse, x_ptr, labels, row_stride, n_rows, n_cols, ignore, BLOCK: tl.constexpr, num_stages: tl.constexpr
):
    row_start = tl.program_id(0)
    row_step = tl.num_programs(0)
    for row_idx in tl.range(row_start, n_rows, row_step, num_stages=num_stages):
        row = row_idx.to(tl.int64)
        y = tl.load(labels + row)
        if y != ignore:
            m = float("-inf")
            s = 0.0
            for start in range(0, n_cols, BLOCK):
                c = start + tl.arange(0, BLOCK)
                x = tl.load(x_ptr + row * row_stride + c, mask=c < n_cols, other=-float("inf")).to(tl.float32)
                new = tl.maximum(m, tl.max(x, axis=0))
                new = tl.where(new != new, 0.0, new)
                shift = tl.where(new == -float("inf"), 0.0, new)
                s = s * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)
                m = new
            z = m + tl.log(s)
            own = tl.load(x_ptr + row * row_stride + y).to(tl.float32)
            tl.store(loss + row, z - own)
            tl.store(lse + row, z)
        else:
            tl.store(loss + row, 0.0)
            tl.store(lse + row, 0.0)


def cross_entropy_forward(logits, labels, ignore_index=-100):
    logits = logits if logits.stride(-1) == 1 else logits.contiguous()
    labels = labels.contiguous()
    M, V = logits.shape
    loss = torch.empty(M, dtype=torch.float32, device=logits.device)
    lse = torch.empty(M, dtype=torch.float32, device=logits.device)
    if M == 0:
        return loss, lse
    bad = torch.empty(2, dtype=torch.int64, device=logits.device)
    check_kernel[(1,)](labels, bad, M, V, ignore_index, BLOCK=128)
    row, label = bad.tolist()
    if row < M:
        raise IndexError(f"labels[{row}] is {label}, outside [0, {V})")
    softmax_rows[(min(M, 8),)](
        loss,
        lse,
        logits,
        labels,
        logits.stride(0),
        M,
        V,
        ignore_index,
        BLOCK=min(4096, triton.next_power_of_2(V)),
        num_stages=2,
    )
    return loss, lse
