"""The norm of all gradients of a model in Triton: a launch for each tensor, one float32 for each block of it, and a
last launch that adds these up and takes the root.

    norm = √(Σ over all tensors Σ g²)

No atomic addition: the sum is taken in the same order every time.
"""

import torch

from .language import tl, triton


# %% global_norm
@triton.jit
def squares_kernel(grad_ptr, sums_ptr, n, BLOCK: tl.constexpr):
    """Program p adds up the squares of elements p · BLOCK to (p + 1) · BLOCK."""
    program = tl.program_id(0).to(tl.int64)
    offsets = program * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(grad_ptr + offsets, mask=offsets < n, other=0.0).to(tl.float32)
    tl.store(sums_ptr + program, tl.sum(g * g))


@triton.jit
def root_kernel(sums_ptr, norm_ptr, n, BLOCK: tl.constexpr):
    """One program: the root of the sum of n numbers."""
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(sums_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(norm_ptr, tl.sqrt(tl.sum(total)))


def global_norm(grads: list[torch.Tensor]) -> torch.Tensor:
    """The 2-norm of all numbers in grads, a list of tensors of any shapes, strides and floating dtypes: float32, shape
    (). One that is in it twice counts twice. Of an empty list 0.
    """
    if not grads:
        return torch.zeros(())  # on no GPU: there is none to tell which
    block, device = 4096, grads[0].device
    counts = [triton.cdiv(g.numel(), block) for g in grads]
    sums = torch.empty(sum(counts), dtype=torch.float32, device=device)
    for g, count, part in zip(grads, counts, sums.split(counts), strict=True):
        if count:
            squares_kernel[(count,)](g.contiguous(), part, g.numel(), BLOCK=block)
    norm = torch.empty((), dtype=torch.float32, device=device)
    root_kernel[(1,)](sums, norm, sums.numel(), BLOCK=128)
    return norm
