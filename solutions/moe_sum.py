"""What the experts returned, put together, in PyTorch: for each token the weighted sum of its rows.

    y_t            = Σ_j w[t, j] · rows[slots[t, j]]
    drows[slot tj] = w[t, j] · dy_t          dw[t, j] = Σ_d dy[t, d] · rows[slots[t, j], d]

rows: (S, D)   weights: (T, k) float32   slots: (T, k) int64, -1 where a token has no row   y: (T, D), like rows. In
the dtype of the weights, rounded once at the end. No two places refer to one row. What a row holds that none
refers to, and a weight where there is none, does not matter.
"""

import torch


# %% moe_sum_forward
def check_slots(slots: torch.Tensor, S: int) -> None:
    """Raises IndexError, with the first token that has one and its value, where a slot is neither -1 nor a row."""
    bad = (slots != -1) & ((slots < 0) | (slots >= S))
    if bad.any():
        token, place = (int(index) for index in bad.nonzero()[0])
        raise IndexError(f"slots[{token}, {place}] is {slots[token, place]}: no row, 0 to {S - 1}, and not -1")


def places(slots: torch.Tensor) -> list[tuple[int, torch.Tensor, torch.Tensor]]:
    """For each of the k places: its number, the tokens that have a row there, and which rows these are."""
    columns = []
    for j in range(slots.shape[1]):
        tokens = (slots[:, j] != -1).nonzero().squeeze(1)
        columns.append((j, tokens, slots[tokens, j]))
    return columns


def moe_sum_forward(rows: torch.Tensor, weights: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
    """(T, D), like rows: Σ_j weights[t, j] · rows[slots[t, j]]. A slot of -1 adds nothing, whatever its weight.

    Raises IndexError for a slot that is no row, with the first such token, row by row, and its value. rows: any
    strides; weights, (T, k) float32, and slots, (T, k) int64, are contiguous. Each row is referred to at most once; any
    other may hold anything, NaN included. S, T and k may be 0.
    """
    check_slots(slots, rows.shape[0])
    y = torch.zeros(slots.shape[0], rows.shape[1], dtype=weights.dtype, device=rows.device)
    for j, tokens, at in places(slots):
        y[tokens] += weights[tokens, j : j + 1] * rows[at]
    return y.to(rows.dtype)


# %% moe_sum_backward
def moe_sum_backward(
    dy: torch.Tensor, rows: torch.Tensor, weights: torch.Tensor, slots: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(drows, dweights), like rows and weights. A row that no token refers to: 0; a slot of -1: its dweight is 0.

    dy and rows: any strides; weights and slots are contiguous, and every slot is valid. S, T and k may be 0.
    """
    drows = torch.zeros_like(rows)
    dweights = torch.zeros_like(weights)
    for j, tokens, at in places(slots):
        upstream = dy[tokens].to(weights.dtype)
        drows[at] = (weights[tokens, j : j + 1] * upstream).to(rows.dtype)
        dweights[tokens, j] = (upstream * rows[at]).sum(1)
    return drows, dweights
