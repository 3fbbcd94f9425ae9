"""The advantage of each sample in its group, in Triton.

    y_i = (r_i - mean) / (std + eps),   std = √(Σ (r - mean)² / (n - 1))

rewards: (P, G)   y: (P, G) float32. Mean, std and n are those of the row's scored rewards: a NaN is not scored and gets
0. A row without two different rewards gets exactly 0. Shao et al. 2024, arXiv:2402.03300. A group is read once.
"""

import torch

from .language import tl, triton


# %% group_advantage
@triton.jit
def group_advantage_kernel(rewards_ptr, y_ptr, G, eps, BLOCK: tl.constexpr):
    """Program p does group p."""
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    r = tl.load(rewards_ptr + row * G + cols, mask=cols < G, other=float("nan")).to(tl.float32)

    scored = r == r  # lanes beyond the group are as NaN, not scored
    smallest = tl.min(tl.where(scored, r, float("inf")))
    largest = tl.max(tl.where(scored, r, float("-inf")))
    n = tl.sum(scored.to(tl.float32))
    d = tl.where(scored, r - smallest, 0.0)
    d = tl.where(scored, d - tl.sum(d) / n, 0.0)
    std = tl.sqrt(tl.sum(d * d) / (n - 1.0))

    y = tl.where(largest > smallest, d / (std + eps), 0.0)
    tl.store(y_ptr + row * G + cols, y, mask=cols < G)


def group_advantage(rewards: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """(P, G) float32: (r - mean) / (std + eps) in each row, of the rewards that are not NaN; std with n - 1.

    Exactly 0 where the reward is NaN, and in a row of which no two rewards differ. Strides: any.
    """
    rewards = rewards.contiguous()
    P, G = rewards.shape
    y = torch.empty(P, G, dtype=torch.float32, device=rewards.device)
    if rewards.numel():
        block = triton.next_power_of_2(G)
        group_advantage_kernel[(P,)](rewards, y, G, eps, BLOCK=block, num_warps=min(max(block // 512, 1), 16))
    return y
