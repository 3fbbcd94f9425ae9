"""Rotary embeddings as they shipped, bug for bug. Each has the course's signature: positions and inv_freq are given."""

import torch


def rotary_half_positions(x, positions, inv_freq, interleaved=False):
    """transformers, LlamaRotaryEmbedding: positions and angles in the dtype of inv_freq, which a model that is
    converted as a whole gives the dtype of everything else.

    Run in 4.31.0 and 4.37.2 after ``.to(torch.bfloat16)``, at a sequence longer than the cached one.
    github.com/huggingface/transformers/issues/25681 (2023-08-23).
    """
    angle = positions.unsqueeze(-1).to(x.dtype) * inv_freq.to(x.dtype)
    return turn(x, angle, interleaved)


def rotary_autocast(x, positions, inv_freq, interleaved=False):
    """transformers 4.38.0 and 4.38.1 under autocast: both factors are float32, but their product is a product of
    matrices, and those autocast computes in bfloat16. Cured in 4.38.2, github.com/huggingface/transformers/pull/29285;
    again in diffusers in June 2026, github.com/huggingface/diffusers/issues/13920.
    """
    angle = positions.unsqueeze(-1).to(torch.bfloat16) * inv_freq.to(torch.bfloat16)
    return turn(x, angle, interleaved)


def rotary_skips_negative(x, positions, inv_freq, interleaved=False):
    """flash-linear-attention 0.2.2 to 0.5.1: what stands at a negative position, as padding on the left does, is
    neither read nor written, and the result was allocated with ``empty_like``; NaN stands for what the memory held.

    github.com/fla-org/flash-linear-attention/pull/967 (2026-06-23).
    """
    y = turn(x, positions.unsqueeze(-1).double() * inv_freq.double(), interleaved)
    return y.masked_fill((positions < 0)[:, None, :, None], torch.nan)


def rotary_backward_half_positions(dy, positions, inv_freq, interleaved=False):
    """`rotary_half_positions`, differentiated."""
    return rotary_half_positions(dy, -positions, inv_freq, interleaved)


def rotary_backward_autocast(dy, positions, inv_freq, interleaved=False):
    """`rotary_autocast`, differentiated."""
    return rotary_autocast(dy, -positions, inv_freq, interleaved)


def rotary_backward_in_place(dy, positions, inv_freq, interleaved=False):
    """unsloth 2025.12.4 to 2025.12.9: `dy.clone() if not dy.is_contiguous else dy` asks whether there is such a method,
    not what it says, and so every program turns its row of dy where it lies. Rows that share their memory are turned
    again and again; here one program after the other, on a GPU in any order.

    github.com/unslothai/unsloth/pull/3782 (2025-12-29).
    """
    dx = dy
    angle = -positions.unsqueeze(-1).double() * inv_freq.double()
    for b, h, m in torch.cartesian_prod(*(torch.arange(size) for size in dy.shape[:3])).tolist():
        row = dx[b : b + 1, h : h + 1, m : m + 1]
        row.copy_(turn(row, angle[b : b + 1, m : m + 1], interleaved))
    return dx


def rotary_backward_forward(dy, positions, inv_freq, interleaved=False):
    """A mistake that nobody is known to have shipped: the gradient is turned onward, not back."""
    return turn(dy, positions.unsqueeze(-1).double() * inv_freq.double(), interleaved)


def rotary_always_halves(x, positions, inv_freq, interleaved=False):
    """A mistake that nobody is known to have shipped: pair i is (i, i + D / 2), whatever interleaved says."""
    return turn(x, positions.unsqueeze(-1).double() * inv_freq.double(), False)


def rotary_backward_always_halves(dy, positions, inv_freq, interleaved=False):
    """`rotary_always_halves`, differentiated."""
    return rotary_always_halves(dy, -positions, inv_freq)


def turn(x, angle, interleaved=False):
    """x with pair i of every token turned by angle (B, M, D / 2)."""
    cos, sin = (
        wave(angle).unsqueeze(1).to(torch.promote_types(x.dtype, torch.float32)) for wave in (torch.cos, torch.sin)
    )
    first, second = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    pair = first * cos - second * sin, second * cos + first * sin
    return (torch.stack(pair, -1).flatten(-2) if interleaved else torch.cat(pair, -1)).to(x.dtype)
