"""The entropy of a softmax in Triton: one number for each row of logits, and its gradient.

    H   = -Σ p log p = log Σ e^d - Σ e^d d / Σ e^d,   d = z - max z
    dz  = -dH p (log p + H),   log p = z - lse

logits: (M, V)   entropy, lse, dentropy: (M,) float32. Float32 inside, rounded once at the store. Forward reads the
logits once: both sums belong to the largest logit so far, and are brought to the next one (as Milakov and Gimelshein
2018, arXiv:1805.02867, do with Σ e^d). Backward reads them once and writes dlogits. A class of -inf adds 0; a row of
-inf alone has entropy 0, lse -inf and gradient 0.
"""

import torch

from ..solutions import entropy as cpu
from .autograd import Function, gradient, unaliased
from .language import as_matrix, check_tensors, tl, triton, use_triton

# %% entropy_forward
BLOCK = 4096
FAR = tl.constexpr(-200.0)  # e^d is 0 from here on, and 0 · d is not NaN


@triton.jit
def add_logits(top, total, weighted, z):
    """(top, total, weighted) with z (K, LANES) in it: of each lane the largest logit so far, Σ e^d and Σ e^d d,
    d = z - top.
    """
    new_top = tl.maximum(top, tl.max(z, 0))
    step = tl.maximum(top - new_top, FAR)  # what every d so far grows by
    d = z - new_top[None, :]
    e = tl.exp2(d * 1.4426950408889634)  # 0 where it is subnormal; `tl.exp` takes three instructions more
    weighted = (weighted + step * total) * tl.exp(step) + tl.sum(e * tl.maximum(d, FAR), 0)
    return new_top, total * tl.exp(step) + tl.sum(e, 0), weighted


@triton.jit
def entropy_forward_kernel(logits_ptr, entropy_ptr, lse_ptr, V, K: tl.constexpr, LANES: tl.constexpr):
    """Program i does row i, K · LANES logits at a time. No lane waits for another before the end.

    A row may begin anywhere. The blocks begin at a multiple of 16, so that many are loaded at once, and the first is
    masked, as the last ones are.
    """
    row = tl.program_id(0).to(tl.int64)
    logits_ptr += row * V // 16 * 16
    begin = (row * V % 16).to(tl.int32)
    end = begin + V
    top = tl.full((LANES,), -3.4028234663852886e38, tl.float32)  # finite: -inf - -inf is NaN
    total = tl.zeros((LANES,), tl.float32)
    weighted = tl.zeros((LANES,), tl.float32)
    lanes = tl.arange(0, LANES)[None, :]
    block = tl.arange(0, K)[:, None] * LANES + lanes

    first = tl.load(logits_ptr + lanes, mask=(lanes >= begin) & (lanes < end), other=float("-inf")).to(tl.float32)
    top, total, weighted = add_logits(top, total, weighted, first)
    whole = LANES + tl.maximum(end - LANES, 0) // (K * LANES) * (K * LANES)
    for start in range(LANES, whole, K * LANES):
        z = tl.load(logits_ptr + start + block).to(tl.float32)
        top, total, weighted = add_logits(top, total, weighted, z)
    for start in range(whole, end, LANES):
        cols = start + lanes
        z = tl.load(logits_ptr + cols, mask=cols < end, other=float("-inf")).to(tl.float32)
        top, total, weighted = add_logits(top, total, weighted, z)

    row_top = tl.max(top)
    step = tl.maximum(top - row_top, FAR)
    row_total = tl.sum(total * tl.exp(step))
    row_weighted = tl.sum((weighted + step * total) * tl.exp(step))
    entropy = tl.log(row_total) - row_weighted / row_total
    tl.store(entropy_ptr + row, tl.where(row_total == 0.0, 0.0, entropy))
    tl.store(lse_ptr + row, row_top + tl.log(row_total))


def entropy_forward(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(entropy, lse): (M,) each, natural logarithm. logits (M, V), any strides; -inf is a class that cannot be."""
    logits = logits.contiguous()
    M, V = logits.shape
    entropy = torch.empty(M, dtype=torch.float32, device=logits.device)
    lse = torch.empty_like(entropy)
    lanes = min(max(triton.next_power_of_2(V), 16), BLOCK // 4)
    if M:
        entropy_forward_kernel[(M,)](logits, entropy, lse, V, K=4, LANES=lanes, num_warps=max(lanes // 256, 1))
    return entropy, lse


# %% entropy_backward
@triton.jit
def entropy_backward_kernel(dentropy_ptr, logits_ptr, entropy_ptr, lse_ptr, dlogits_ptr, V, BLOCK: tl.constexpr):
    """Program (i, j) does block j of row i."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < V

    dentropy = tl.load(dentropy_ptr + row).to(tl.float32)
    entropy = tl.load(entropy_ptr + row)
    lse = tl.load(lse_ptr + row)
    z = tl.load(logits_ptr + row * V + cols, mask=mask, other=float("-inf")).to(tl.float32)

    log_p = z - lse
    dlogits = -dentropy * tl.exp(log_p) * (log_p + entropy)
    dlogits = tl.where(z == float("-inf"), 0.0, dlogits)  # 0 * -inf is NaN

    tl.store(dlogits_ptr + row * V + cols, dlogits.to(dlogits_ptr.dtype.element_ty), mask=mask)


def entropy_backward(
    dentropy: torch.Tensor, logits: torch.Tensor, entropy: torch.Tensor, lse: torch.Tensor
) -> torch.Tensor:
    """dlogits, like logits, from what entropy_forward returned; 0 where a class has no probability.

    Strides: any for dentropy and logits; entropy and lse are contiguous.
    """
    dentropy, logits = dentropy.contiguous(), logits.contiguous()
    entropy, lse = entropy.contiguous(), lse.contiguous()
    dlogits = torch.empty_like(logits)
    M, V = logits.shape
    block = min(triton.next_power_of_2(V), BLOCK)
    if logits.numel():
        entropy_backward_kernel[(M, triton.cdiv(V, block))](
            dentropy, logits, entropy, lse, dlogits, V, BLOCK=block, num_warps=max(block // 512, 1)
        )
    return dlogits


# %% entropy
class EntropyFunction(Function):
    """(entropy, lse) over the rows of a matrix. Saves the logits and two numbers for each row."""

    @staticmethod
    def forward(logits):
        entropy, lse = (entropy_forward if use_triton(logits) else cpu.entropy_forward)(logits)
        return unaliased(entropy), lse

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx, dentropy, _):
        compute = entropy_backward if use_triton(dentropy) else cpu.entropy_backward
        return gradient("entropy", compute, dentropy, *ctx.saved_tensors)


def entropy(logits: torch.Tensor) -> torch.Tensor:
    """-Σ p log p of the softmax over the last axis, in float32 (float64 for float64), differentiable once.

    logits: (..., V), floating point, V at least 1, else ValueError. -inf is a class that cannot be; a row of -inf alone
    has entropy 0. CUDA through Triton, elsewhere PyTorch.
    """
    check_tensors("entropy", 1, logits=logits)
    if not logits.shape[-1]:
        raise ValueError(f"entropy: logits have a last axis of at least one class; they are {tuple(logits.shape)}")
    return EntropyFunction.apply(as_matrix(logits))[0].reshape(logits.shape[:-1])
