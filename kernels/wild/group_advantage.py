"""The advantage of each sample in its group, as it shipped, bug for bug: (P, G) float32 for rewards (P, G)."""

import torch


def of_the_others(rewards):
    """(mean, std) of the other rewards of the row: √((E[r²] - E[r]²) n / (n - 1)), 0 where that is NaN.

    As NeMo-RL's calculate_baseline_and_std_per_prompt takes them, which multiplies by a matrix of 0 and 1. In which
    order a product adds up hangs on the machine: here one after the other, which gives the numbers of its issues.
    """
    n = rewards.shape[1] - 1
    total, squares = torch.zeros_like(rewards), torch.zeros_like(rewards)
    for j in range(n + 1):
        other = torch.arange(n + 1) != j
        total[:, other] += rewards[:, j : j + 1]
        squares[:, other] += rewards[:, j : j + 1].square()
    mean = total / n
    bessel = torch.tensor(n) / (n - 1)
    return mean, ((squares / n - mean.square()) * bessel).sqrt().nan_to_num(0)


def leave_one_out(rewards, eps=1e-6):
    """NeMo-RL's main on 13 to 17 November 2025: (r - mean of the others) / (std of the others + 1e-6).

    github.com/NVIDIA-NeMo/RL/issues/1518. Pull request 1423 took the guard "std > 0" away, 1519 put it back, for 0.4.0.
    """
    mean, std = of_the_others(rewards.float())
    return (rewards - mean) / (std + eps)


def leave_one_out_guarded(rewards, eps=1e-6):
    """NeMo-RL 0.4.0 to 0.7.0: the same, and where the std is not above 0 nothing is divided.

    github.com/NVIDIA-NeMo/RL/pull/4161 and 4158 (2026-09): the std of equal rewards is above 0 where their squares
    round.
    """
    mean, std = of_the_others(rewards.float())
    return torch.where(std > 0, (rewards - mean) / (std + eps), rewards - mean)


def tiny_epsilon(rewards, eps=1e-6):
    """OpenRLHF's "group_norm", 0.6.0 to 0.11.0: (r - mean) / (std + 1e-9), with no look at whether all are equal.

    openrlhf/trainer/ppo_utils/experience_maker.py. The mean of eight times 0.35 is one rounding away from 0.35.
    """
    rewards = rewards.float()
    return (rewards - rewards.mean(-1, keepdim=True)) / (std(rewards) + 1e-9)


def unscored_as_zero(rewards, eps=1e-6):
    """trl's GRPO until 1.5: a completion that no function scored had the reward 0, from nansum.

    github.com/huggingface/trl/pull/5775 (2026-05-16, closed), pull request 5902 (merged 2026-06-02), first in 1.6.0.
    """
    rewards = rewards.float().nan_to_num(0)
    return (rewards - rewards.mean(-1, keepdim=True)) / (std(rewards) + 1e-4)


def biased_std(rewards, eps=1e-6):
    """The standard deviation that np.std takes: divided by n, not by n - 1."""
    rewards = rewards.float()
    d = rewards - rewards.mean(-1, keepdim=True)
    return d / (d.square().mean(-1, keepdim=True).sqrt() + eps)


def group_of_one_as_it_is(rewards, eps=1e-6):
    """In a group of one the mean is taken to be 0 and the std to be 1, so that the advantage is the reward."""
    rewards = rewards.float()
    if rewards.shape[1] == 1:
        return rewards / (1 + eps)
    return (rewards - rewards.mean(-1, keepdim=True)) / (std(rewards) + eps)


def std(rewards):
    """rewards.std(-1, keepdim=True), which is NaN for a single one, without PyTorch's warning."""
    if rewards.shape[-1] < 2:
        return torch.full_like(rewards[..., :1], torch.nan)
    return rewards.std(-1, keepdim=True)
