"""The advantage of each sample in its group, in PyTorch.

    y_i = (r_i - mean) / (std + eps),   std = √(Σ (r - mean)² / (n - 1))

rewards: (P, G), G samples for each of P prompts   y: (P, G) float32. Mean, std and n are those of the row's scored
rewards: a NaN is not scored and gets 0. A row without two different rewards gets exactly 0. Shao et al. 2024,
arXiv:2402.03300. The smallest reward is subtracted first: what is left of equal rewards is 0, and mean and std of a
large common part are exact.
"""

import torch


# %% group_advantage
def group_advantage(rewards: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """(P, G) float32: (r - mean) / (std + eps) in each row, of the rewards that are not NaN; std with n - 1.

    Exactly 0 where the reward is NaN, and in a row of which no two rewards differ. Strides: any.
    """
    if not rewards.numel():
        return torch.empty(rewards.shape, device=rewards.device)
    scored = ~rewards.isnan()
    r = rewards.float()
    smallest = r.where(scored, torch.inf).amin(1, keepdim=True)
    largest = r.where(scored, -torch.inf).amax(1, keepdim=True)
    n = scored.sum(1, keepdim=True)
    d = (r - smallest).where(scored, 0)
    d = (d - d.sum(1, keepdim=True) / n).where(scored, 0)
    std = (d.square().sum(1, keepdim=True) / (n - 1)).sqrt()
    return (d / (std + eps)).where(largest > smallest, 0)


# %% advantage_witness
def advantage_witness() -> tuple[torch.Tensor]:
    """(rewards,): a finite matrix (P, G) on which NeMo-RL's guarded leave-one-out advantage exceeds 100, by rounding:
    without any it is 100 at most. It is off by more than what lifts an advantage to 100.
    At most 65,536 elements in all.
    """
    return (torch.tensor([[0.95, 0.35, 0.35, 0.35, 0.35, 0.35, 0.35, 0.35]]),)
