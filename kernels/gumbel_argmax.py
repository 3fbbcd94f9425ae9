"""A token drawn from a softmax by the Gumbel-max trick, in Triton.

    argmax_j (z_j + g_j),   g_j = -log(-log u_j)

logits: (M, V)   u: (M, V) float32, uniform numbers from 0 to 1   result: (M,) int64. With u uniform, class j is drawn
with probability e^z_j / Σ e^z: Gumbel 1954; Maddison et al. 2014, arXiv:1411.0030. u below 2^-32 counts as 2^-32, and
-log u is at least 2^-32: neither end of the interval may decide. Both inputs are read once, block by block.
"""

import torch

from .language import tl, triton

# %% gumbel_argmax
BLOCK = 4096


@triton.jit
def gumbel_argmax_kernel(logits_ptr, u_ptr, index_ptr, V, BLOCK: tl.constexpr):
    """Program i does row i."""
    GRID: tl.constexpr = 2.3283064365386963e-10  # 2^-32
    row = tl.program_id(0).to(tl.int64)
    best, index = float("-inf"), -1
    for start in range(0, V, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        z = tl.load(logits_ptr + row * V + cols, mask=cols < V, other=float("-inf")).to(tl.float32)
        u = tl.load(u_ptr + row * V + cols, mask=cols < V, other=0.5)

        exponential = -tl.log(tl.maximum(u, GRID))
        score = z - tl.log(tl.maximum(exponential, GRID))

        top = tl.max(score)
        first = tl.min(tl.where(score == top, cols, V))
        index = tl.where(top > best, first, index)  # of equals the first, and never one of -inf
        best = tl.maximum(top, best)
    tl.store(index_ptr + row, index)


def gumbel_argmax(logits: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """(M,) int64: the class in each row of logits (M, V) with the largest logit + -log(-log u), the first of equals.

    u: (M, V) float32, from 0 to 1; u counts as at least 2^-32, and so does -log u. A logit of -inf is never chosen: a
    row of -inf alone gives -1. Computed in float32; no logit is NaN. Strides: any.
    """
    logits, u = logits.contiguous(), u.contiguous()
    M, V = logits.shape
    index = torch.empty(M, dtype=torch.int64, device=logits.device)
    block = min(triton.next_power_of_2(V), BLOCK)
    if M:
        gumbel_argmax_kernel[(M,)](logits, u, index, V, BLOCK=block, num_warps=max(block // 512, 1))
    return index
