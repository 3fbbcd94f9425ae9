"""What the experts returned, put together, in Triton: for each token the weighted sum of its rows.

    y_t            = Σ_j w[t, j] · rows[slots[t, j]]
    drows[slot tj] = w[t, j] · dy_t          dw[t, j] = Σ_d dy[t, d] · rows[slots[t, j], d]

rows: (S, D)   weights: (T, k) float32   slots: (T, k) int64, -1 where a token has no row   y: (T, D), like rows.
Float32 inside, rounded once at the store. A row is read once forward and once backward, in which it is also written:
no two places refer to one, so nothing is added by atomics. No row is read that none refers to.
"""

import torch

from .language import tl, triton

# %% moe_sum_forward
PLACES, BLOCK = 8, 512  # a tile: rows of a token at once, and columns


@triton.jit
def first_bad_slot_kernel(slots_ptr, first_ptr, N, S, BLOCK: tl.constexpr):
    """One program: the first of N slots that is neither -1 nor a row; N where there is none."""
    first = N
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        slot = tl.load(slots_ptr + at, mask=at < N, other=-1)
        bad = (slot != -1) & ((slot < 0) | (slot >= S))
        first = tl.minimum(first, tl.min(tl.where(bad, at, N)))
    tl.store(first_ptr, first)


def check_slots(slots: torch.Tensor, S: int) -> None:
    """Raises IndexError, with the first token that has one and its value, where a slot is neither -1 nor a row."""
    first = torch.empty(1, dtype=torch.int64, device=slots.device)
    first_bad_slot_kernel[(1,)](slots, first, slots.numel(), S, BLOCK=1024)
    if first.item() < slots.numel():
        token, place = divmod(int(first), slots.shape[1])
        value = slots[token, place].item()
        raise IndexError(f"slots[{token}, {place}] is {value}: no row, 0 to {S - 1}, and not -1")


@triton.jit
def tile_of_rows(rows_ptr, slot, cols, S, D):
    """(the columns of the rows of these slots, in float32, 0 where there is none; their indices; which there are)."""
    at = slot[:, None] * D + cols[None, :]
    there = (slot >= 0) & (slot < S)
    mask = there[:, None] & (cols < D)[None, :]
    return tl.load(rows_ptr + at, mask=mask, other=0.0).to(tl.float32), at, mask


@triton.jit
def moe_sum_forward_kernel(rows_ptr, weights_ptr, slots_ptr, y_ptr, S, D, k, PLACES: tl.constexpr, BLOCK: tl.constexpr):
    """Program (t, j) does block j of token t, PLACES rows at a time."""
    token = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    y = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, k, PLACES):
        place = first + tl.arange(0, PLACES)
        slot = tl.load(slots_ptr + token * k + place, mask=place < k, other=-1)
        weight = tl.load(weights_ptr + token * k + place, mask=slot >= 0, other=0.0)
        row, _, _ = tile_of_rows(rows_ptr, slot, cols, S, D)
        y += tl.sum(weight[:, None] * row, 0)
    tl.store(y_ptr + token * D + cols, y.to(y_ptr.dtype.element_ty), mask=cols < D)


def moe_sum_forward(rows: torch.Tensor, weights: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
    """(T, D), like rows: Σ_j weights[t, j] · rows[slots[t, j]]. A slot of -1 adds nothing, whatever its weight.

    Raises IndexError for a slot that is no row, with the first such token, row by row, and its value. rows: any
    strides; weights, (T, k) float32, and slots, (T, k) int64, are contiguous. Each row is referred to at most once; any
    other may hold anything, NaN included. S, T and k may be 0.
    """
    rows = rows.contiguous()
    (S, D), (T, k) = rows.shape, slots.shape
    check_slots(slots, S)
    y = torch.empty(T, D, dtype=rows.dtype, device=rows.device)
    block = min(triton.next_power_of_2(D), BLOCK)
    if y.numel():
        moe_sum_forward_kernel[(T, triton.cdiv(D, block))](
            rows, weights, slots, y, S, D, k, PLACES=min(triton.next_power_of_2(max(k, 1)), PLACES), BLOCK=block
        )
    return y


# %% moe_sum_backward
@triton.jit
def moe_sum_backward_kernel(
    dy_ptr, rows_ptr, weights_ptr, slots_ptr, drows_ptr, dweights_ptr,
    S, D, k, BLOCK: tl.constexpr, PLACES: tl.constexpr
):  # fmt: skip
    """Program (t, i) does PLACES rows of token t, block by block; of a row without a token nothing is written."""
    token = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * PLACES + tl.arange(0, PLACES)
    slot = tl.load(slots_ptr + token * k + place, mask=place < k, other=-1)
    weight = tl.load(weights_ptr + token * k + place, mask=slot >= 0, other=0.0)
    dweight = tl.zeros((PLACES,), tl.float32)
    for start in range(0, D, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        dy = tl.load(dy_ptr + token * D + cols, mask=cols < D, other=0.0).to(tl.float32)
        row, at, mask = tile_of_rows(rows_ptr, slot, cols, S, D)
        dweight += tl.sum(dy[None, :] * row, 1)
        drow = weight[:, None] * dy[None, :]
        tl.store(drows_ptr + at, drow.to(drows_ptr.dtype.element_ty), mask=mask)
    tl.store(dweights_ptr + token * k + place, tl.where(slot >= 0, dweight, 0.0), mask=place < k)


def moe_sum_backward(
    dy: torch.Tensor, rows: torch.Tensor, weights: torch.Tensor, slots: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """(drows, dweights), like rows and weights. A row that no token refers to: 0; a slot of -1: its dweight is 0.

    dy and rows: any strides; weights and slots are contiguous, and every slot is valid. S, T and k may be 0.
    """
    dy, rows = dy.contiguous(), rows.contiguous()
    (S, D), (T, k) = rows.shape, slots.shape
    drows, dweights = torch.zeros_like(rows), torch.empty_like(weights)
    if slots.numel():
        places, block = min(triton.next_power_of_2(k), PLACES), min(triton.next_power_of_2(max(D, 1)), BLOCK)
        moe_sum_backward_kernel[(T, triton.cdiv(k, places))](
            dy, rows, weights, slots, drows, dweights, S, D, k, PLACES=places, BLOCK=block
        )
    return drows, dweights
