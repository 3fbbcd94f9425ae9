"""The weighted sum of the experts' rows as it shipped, bug for bug: (T, D), for rows (S, D), weights
and slots (T, k)."""

import torch

BLOCK = 256


def taken(rows, slots):
    """(the row of each place, (T, k, D) float32, 0 where there is none; which places have one)."""
    there = slots >= 0
    padded = torch.cat([rows.float(), torch.zeros(1, rows.shape[1])])
    return padded[slots.where(there, len(rows))], there


def right(rows, weights, slots):
    """The sum in float32, not yet rounded."""
    x, there = taken(rows, slots)
    return (weights.masked_fill(~there, 0).unsqueeze(2) * x).sum(1)


def sum_of_whole_blocks(rows, weights, slots):
    """vLLM's zero-expert kernel, open in July 2026: a grid of D // 256 blocks for each token. What is left of a row
    after them is 0, and so is all of it where D is below 256, which its tests named as a rule.

    github.com/vllm-project/vllm/pull/49087.
    """
    y = right(rows, weights, slots)
    y[:, rows.shape[1] // BLOCK * BLOCK :] = 0
    return y.to(rows.dtype)


def sum_of_the_workspace(rows, weights, slots):
    """vLLM under expert parallelism: -1 marks a place whose expert is on another machine. As an index it "wraps to
    expert_map[-1]", and the sum goes over all k places, so that a row of the workspace is added that nobody wrote.

    github.com/vllm-project/vllm/pull/46408 (2026-06-22, merged), 54083 (2026-08-27, open).
    """
    if not len(rows):
        return torch.zeros(len(slots), rows.shape[1], dtype=rows.dtype)
    return (weights.unsqueeze(2) * rows.float()[slots % len(rows)]).sum(1).to(rows.dtype)


def sum_times_zero(rows, weights, slots):
    """The weight of an absent place is made 0, and a row is multiplied by it all the same: 0 · NaN is NaN."""
    if not len(rows):
        return torch.zeros(len(slots), rows.shape[1], dtype=rows.dtype)
    return (weights.masked_fill(slots < 0, 0).unsqueeze(2) * rows.float()[slots.clamp(min=0)]).sum(1).to(rows.dtype)


def sum_of_rounded_weights(rows, weights, slots):
    """The weights in the dtype of the rows: in bfloat16 three digits are left of each."""
    return right(rows, weights.to(rows.dtype).float(), slots).to(rows.dtype)


def sum_in_half(rows, weights, slots):
    """The sum so far is rounded to the dtype of the rows after each expert."""
    x, there = taken(rows, slots)
    y = torch.zeros(len(slots), rows.shape[1], dtype=rows.dtype)
    for j in range(slots.shape[1]):
        y = (y.float() + weights[:, j].masked_fill(~there[:, j], 0).unsqueeze(1) * x[:, j]).to(rows.dtype)
    return y


def gradients(dy, rows, weights, slots, unused):
    """(drows, dweights), with ``unused`` in the rows that no token refers to."""
    x, there = taken(rows, slots)
    drows = unused.to(rows.dtype).clone()
    drows[slots[there]] = (weights.unsqueeze(2) * dy.float().unsqueeze(1))[there].to(rows.dtype)
    return drows, (dy.float().unsqueeze(1) * x).sum(2).masked_fill(~there, 0)


def backward_of_the_workspace(dy, rows, weights, slots):
    """drows in the memory that rows had: of a row that no token refers to, the old numbers are its gradient."""
    return gradients(dy, rows, weights, slots, rows)


def backward_of_absent_places(dy, rows, weights, slots):
    """An absent place as an index: the last row gets its gradient, and dweights has dy · that row."""
    if not len(rows):
        return torch.zeros_like(rows), torch.zeros_like(weights)
    at = slots % len(rows)
    drows = torch.zeros(rows.shape)
    for j in range(slots.shape[1]):
        drows[at[:, j]] = weights[:, j].unsqueeze(1) * dy.float()
    return drows.to(rows.dtype), (dy.float().unsqueeze(1) * rows.float()[at]).sum(2)


def backward_without_weights(dy, rows, weights, slots):
    """drows is dy: the weight is forgotten."""
    return gradients(dy, rows, torch.ones_like(weights), slots, torch.zeros(rows.shape))
