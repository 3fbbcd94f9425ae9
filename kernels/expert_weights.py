"""The weights of the experts that a router chose, in Triton: one for each place of a token.

    w_i  = scale · σ(x_i) / Σ_j σ(x_j)                  i, j the experts of the token, x its logits
    dx_i = σ(-x_i) · w_i · (dw_i - Σ_j w_j dw_j / scale)

logits: (T, E)   experts: (T, k) int64, -1 for a place without an expert   weights, dweights: (T, k) float32. Float32
inside. σ(x) is e^min(x, 0) / (1 + e^-|x|), the exponent with the largest of the token taken away: a softmax of log σ,
in which nothing underflows that counts. One pass over the k places of a token, and of its E logits only k are read. No
expert becomes an address that is not one of E, and none needs an atomic: those of a token are distinct.
"""

import torch

from .language import tl, triton

# %% expert_weights_forward
TILE = 512  # places that a program does


@triton.jit
def places_of(T, k, TOKENS: tl.constexpr, PLACES: tl.constexpr):
    """(the tokens of this program, (TOKENS, 1) int64; the index of each place; which of the places there are)."""
    tokens = tl.program_id(0).to(tl.int64) * TOKENS + tl.arange(0, TOKENS)[:, None]
    columns = tl.arange(0, PLACES)[None, :]
    return tokens, tokens * k + columns, (tokens < T) & (columns < k)


@triton.jit
def expert_weights_forward_kernel(
    logits_ptr, experts_ptr, weights_ptr, bad_ptr, T, E, k, stride_t, stride_e, scale,
    TOKENS: tl.constexpr, PLACES: tl.constexpr
):  # fmt: skip
    """Program i does TOKENS tokens, and says which of their places has the first bad expert; T · k where none has."""
    tokens, at, mask = places_of(T, k, TOKENS, PLACES)
    expert = tl.load(experts_ptr + at, mask=mask, other=-1)
    there = (expert >= 0) & (expert < E)
    bad = (expert != -1) & ((expert < 0) | (expert >= E))
    tl.store(bad_ptr + tl.program_id(0), tl.min(tl.min(tl.where(bad, at, T * k), 1), 0))

    x = tl.load(logits_ptr + tokens * stride_t + expert * stride_e, mask=there, other=0.0).to(tl.float32)
    below = tl.where(there, tl.minimum(x, 0.0), -3.4028234663852886e38)  # finite: -inf - -inf is NaN
    sigma = tl.exp(below - tl.max(below, 1)[:, None]) / (1.0 + tl.exp(-tl.abs(x)))  # the second one keeps NaN
    weights = scale * (sigma / tl.sum(sigma, 1)[:, None])
    tl.store(weights_ptr + at, tl.where(there, weights, 0.0), mask=mask)


@triton.jit
def first_kernel(bad_ptr, N, BLOCK: tl.constexpr):
    """One program: the smallest of N numbers, into the first of them."""
    first = tl.load(bad_ptr)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        first = tl.minimum(first, tl.min(tl.load(bad_ptr + at, mask=at < N, other=first)))
    tl.store(bad_ptr, first)


def tiles(T: int, k: int) -> tuple[int, int, int, int]:
    """(programs, TOKENS, PLACES, warps): a tile of about TILE places, at least one token each."""
    places = triton.next_power_of_2(k)
    tokens = max(TILE // places, 1)
    return triton.cdiv(T, tokens), tokens, places, min(max(tokens * places // 128, 1), 16)


def expert_weights_forward(logits: torch.Tensor, experts: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    """(T, k) float32: scale · σ(x_i) / Σ_j σ(x_j) over the experts of a token, x their logits; σ may underflow.

    -1 is a place without an expert: weight 0, whatever else the token has, and not in the sum. Raises IndexError for
    an expert that is not one of E, with the first such token, row by row, and its value. logits: any strides; experts,
    (T, k) int64, is contiguous, and but for -1 those of a token are distinct. T and k may be 0. scale is above 0.
    """
    (T, E), k = logits.shape, experts.shape[1]
    weights = torch.empty(T, k, dtype=torch.float32, device=logits.device)
    if not weights.numel():
        return weights
    programs, tokens, places, warps = tiles(T, k)
    bad = torch.empty(programs, dtype=torch.int64, device=logits.device)
    expert_weights_forward_kernel[(programs,)](
        logits, experts, weights, bad, T, E, k, *logits.stride(), scale, TOKENS=tokens, PLACES=places, num_warps=warps
    )
    first_kernel[(1,)](bad, programs, BLOCK=1024)
    first = int(bad[0])
    if first < T * k:
        token, place = divmod(first, k)
        value = experts[token, place].item()
        raise IndexError(f"experts[{token}, {place}] is {value}: no expert, 0 to {E - 1}, and not -1")
    return weights


# %% expert_weights_backward
@triton.jit
def expert_weights_backward_kernel(
    dweights_ptr, logits_ptr, experts_ptr, weights_ptr, dlogits_ptr, T, E, k, dweights_stride_t, dweights_stride_k,
    stride_t, stride_e, scale, TOKENS: tl.constexpr, PLACES: tl.constexpr
):  # fmt: skip
    """Program i does TOKENS tokens; it stores k numbers of each row of dlogits, which is 0 before."""
    tokens, at, mask = places_of(T, k, TOKENS, PLACES)
    expert = tl.load(experts_ptr + at, mask=mask, other=-1)
    there = (expert >= 0) & (expert < E)
    x = tl.load(logits_ptr + tokens * stride_t + expert * stride_e, mask=there, other=0.0).to(tl.float32)
    w = tl.load(weights_ptr + at, mask=there, other=0.0)
    columns = tl.arange(0, PLACES)[None, :]
    dw_ptr = dweights_ptr + tokens * dweights_stride_t + columns * dweights_stride_k
    dw = tl.load(dw_ptr, mask=there, other=0.0).to(tl.float32)

    slope = w * (dw - tl.sum(w * dw, 1)[:, None] / scale)
    e = tl.exp(-tl.abs(x))
    dx = slope * (tl.where(x > 0.0, e, 1.0) / (1.0 + e))  # σ(-x): 1 - σ(x) would cancel
    tl.store(dlogits_ptr + tokens * E + expert, dx.to(dlogits_ptr.dtype.element_ty), mask=there)


def expert_weights_backward(
    dweights: torch.Tensor, logits: torch.Tensor, experts: torch.Tensor, weights: torch.Tensor, scale: float = 1.0
) -> torch.Tensor:
    """dlogits, like logits, from what expert_weights_forward returned; exactly 0 where no expert was chosen.

    What dweights and weights hold at a place of -1 does not matter, NaN included. dweights, (T, k) float32, and logits:
    any strides; experts and weights are contiguous, and every expert is valid. T and k may be 0.
    """
    (T, E), k = logits.shape, experts.shape[1]
    dlogits = torch.zeros(T, E, dtype=logits.dtype, device=logits.device)
    if experts.numel():
        programs, tokens, places, warps = tiles(T, k)
        strides = *dweights.stride(), *logits.stride()
        expert_weights_backward_kernel[(programs,)](
            dweights, logits, experts, weights, dlogits, T, E, k, *strides, scale,
            TOKENS=tokens, PLACES=places, num_warps=warps
        )  # fmt: skip
    return dlogits
