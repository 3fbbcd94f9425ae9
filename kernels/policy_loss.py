"""The clipped policy loss over the tokens that count, in Triton.

    loss  = -Σ min(ρA, clamp(ρ, 1 - clip, 1 + clip) A) / count,   ρ = e^(logp - old)
    dlogp = -dloss ρA / count where ρA <= clamp(ρ) A, 0 elsewhere

logp, old, mask, dlogp: (M, N)   advantage: (M,)   loss, dloss: scalars. Schulman et al. 2017, arXiv:1707.06347. Float32
inside, rounded once at the store. Every program adds up a block of one sample. The host never waits for the device: a
count that is not given stays there.
"""

import torch

from ..solutions import policy_loss as cpu
from .autograd import Function, gradient, unaliased
from .language import as_matrix, check_tensors, describe, tl, triton, use_triton

# %% policy_loss_forward
BLOCK = 4096


@triton.jit
def ratio_and_end(logp_ptr, old_ptr, advantage_ptr, mask_ptr, N, clip, BLOCK: tl.constexpr):
    """(mask, ρ, A, the end of the interval on A's side, whether ρ lies beyond it) of a block of one sample."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    A = tl.load(advantage_ptr + row).to(tl.float32)
    keep = tl.load(mask_ptr + row * N + cols, mask=cols < N, other=0) != 0
    logp = tl.load(logp_ptr + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)  # mask=keep loads one by one
    old = tl.load(old_ptr + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)
    ratio = tl.exp(tl.where(A == 0.0, 0.0, logp - old))  # 0 · inf is NaN
    end = tl.where(A > 0.0, 1.0 + clip, 1.0 - clip)
    beyond = tl.where(A > 0.0, ratio > end, ratio < end)
    return keep, ratio, A, end, beyond


@triton.jit
def share(items_ptr):
    """1 / count, or 0 where count is 0."""
    items = tl.load(items_ptr).to(tl.float32)
    return tl.where(items > 0.0, 1.0 / tl.where(items > 0.0, items, 1.0), 0.0)


@triton.jit
def policy_loss_forward_kernel(
    logp_ptr, old_ptr, advantage_ptr, mask_ptr, items_ptr, partial_ptr, N, clip, BLOCK: tl.constexpr
):
    """Program (i, j) adds up block j of sample i."""
    keep, ratio, A, end, beyond = ratio_and_end(logp_ptr, old_ptr, advantage_ptr, mask_ptr, N, clip, BLOCK)
    terms = tl.where(keep, tl.where(beyond, end, ratio) * A, 0.0)
    at = tl.program_id(0).to(tl.int64) * tl.num_programs(1) + tl.program_id(1)
    tl.store(partial_ptr + at, -tl.sum(terms) * share(items_ptr))


def items_of(mask: torch.Tensor, count: float | None) -> torch.Tensor:
    """The divisor, a tensor on mask's device."""
    return mask.sum() if count is None else torch.full((), count, dtype=torch.float32, device=mask.device)


def policy_loss_forward(
    logp: torch.Tensor,
    old: torch.Tensor,
    advantage: torch.Tensor,
    mask: torch.Tensor,
    count: float | None = None,
    clip: float = 0.2,
) -> torch.Tensor:
    """-Σ min(ρA, clamp(ρ, 1 - clip, 1 + clip) A) / count where mask is True, ρ = e^(logp - old): a float32 scalar.

    count: a number; None: how many elements of mask are True. 0 where count is 0, and no term where A is 0. Strides:
    any for logp, old and mask; advantage is contiguous.
    """
    logp, old, mask = logp.contiguous(), old.contiguous(), mask.contiguous()
    advantage = advantage.contiguous()
    M, N = logp.shape
    if not logp.numel():
        return torch.zeros((), dtype=torch.float32, device=logp.device)
    block = min(triton.next_power_of_2(N), BLOCK)
    partial = torch.empty(M, triton.cdiv(N, block), dtype=torch.float32, device=logp.device)
    policy_loss_forward_kernel[partial.shape](
        logp, old, advantage, mask, items_of(mask, count), partial, N, clip, BLOCK=block
    )
    return partial.sum()


# %% policy_loss_backward
@triton.jit
def policy_loss_backward_kernel(
    dloss_ptr, logp_ptr, old_ptr, advantage_ptr, mask_ptr, items_ptr, dlogp_ptr, N, clip, BLOCK: tl.constexpr
):
    """Program (i, j) does block j of sample i."""
    keep, ratio, A, _, beyond = ratio_and_end(logp_ptr, old_ptr, advantage_ptr, mask_ptr, N, clip, BLOCK)
    slope = -tl.load(dloss_ptr).to(tl.float32) * share(items_ptr) * A * ratio
    dlogp = tl.where(keep & ~beyond, slope, 0.0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    at = tl.program_id(0).to(tl.int64) * N + cols
    tl.store(dlogp_ptr + at, dlogp.to(dlogp_ptr.dtype.element_ty), mask=cols < N)


def policy_loss_backward(
    dloss: torch.Tensor,
    logp: torch.Tensor,
    old: torch.Tensor,
    advantage: torch.Tensor,
    mask: torch.Tensor,
    count: float | None = None,
    clip: float = 0.2,
) -> torch.Tensor:
    """dlogp, like logp: -dloss ρA / count where mask is True and ρA <= clamp(ρ) A, 0 elsewhere.

    Where mask is True and ρA is NaN, so is dlogp. 0 <= clip < 1: both ends are part of the interval.
    """
    logp, old, mask = logp.contiguous(), old.contiguous(), mask.contiguous()
    advantage = advantage.contiguous()
    M, N = logp.shape
    dlogp = torch.empty_like(logp)
    if logp.numel():
        block = min(triton.next_power_of_2(N), BLOCK)
        policy_loss_backward_kernel[(M, triton.cdiv(N, block))](
            dloss, logp, old, advantage, mask, items_of(mask, count), dlogp, N, clip, BLOCK=block
        )
    return dlogp


# %% policy_loss
class PolicyLossFunction(Function):
    """Over a matrix of tokens. Saves what it is given."""

    @staticmethod
    def forward(logp, *rest):
        return policy_loss_forward(logp, *rest) if use_triton(logp) else unaliased(cpu.policy_loss_forward(logp, *rest))

    @staticmethod
    def setup_context(ctx, inputs, output):
        *tensors, ctx.count, ctx.clip = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx, dloss):
        compute = policy_loss_backward if use_triton(dloss) else cpu.policy_loss_backward
        dlogp = gradient("policy_loss", compute, dloss, *ctx.saved_tensors, ctx.count, ctx.clip)
        return dlogp, None, None, None, None, None


def policy_loss(
    logp: torch.Tensor,
    old: torch.Tensor,
    advantage: torch.Tensor,
    mask: torch.Tensor,
    count: float | None = None,
    clip: float = 0.2,
) -> torch.Tensor:
    """The clipped policy loss over the tokens where mask is True, differentiable once in logp. CUDA: Triton, else
    PyTorch.

    logp, old, mask: (..., N), mask bool   advantage: (...), one for each sample. count: what the sum is divided by, the
    tokens of all micro-batches and processes; None: the tokens here. Without a token the loss is 0, its gradient zeros.
    Raises ValueError for shapes, dtypes and devices that do not fit, a count that is negative or NaN, and a clip that
    is negative or not below 1.
    """
    check_tensors("policy_loss", 1, logp=logp, old=old, advantage=advantage, mask=mask)
    matrices, samples = logp.shape, logp.shape[:-1]
    for name, x, shape in (("old", old, matrices), ("mask", mask, matrices), ("advantage", advantage, samples)):
        if x.shape != shape:
            wanted = f"policy_loss: logp is {describe(logp)}, so {name} must be of shape {tuple(shape)}"
            raise ValueError(f"{wanted}; it is {describe(x)}")
    if mask.dtype != torch.bool:
        raise ValueError(f"policy_loss: mask must be bool; it is {describe(mask)}")
    if count is not None and not count >= 0:
        raise ValueError(f"policy_loss: count is a number of tokens, 0 or more, or None; it is {count}")
    if not 0 <= clip < 1:
        raise ValueError(f"policy_loss: clip must be at least 0 and below 1; it is {clip}")
    return PolicyLossFunction.apply(
        as_matrix(logp), as_matrix(old), advantage.reshape(-1), as_matrix(mask), count, clip
    )
