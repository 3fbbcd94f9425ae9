"""The mean of a loss over the tokens that count, as it shipped, bug for bug. Each returns a scalar with its graph."""

import torch


def token_mean_masked(loss, labels, ignore_index=-100, num_items=None):
    """(loss * mask).sum() / mask.sum(), as everybody has written it once: 0 / 0 where no token counts, in both
    directions.

    For instance github.com/NVIDIA-NeMo/Automodel/issues/3796 (2026-09-03): three of its four losses.
    """
    mask = (labels != ignore_index).to(loss.dtype)
    return (loss * mask).sum() / (mask.sum() if num_items is None else num_items)


class _MeanOfValid(torch.autograd.Function):
    """cut_cross_entropy/cce.py: nll.mean() of the valid tokens forward, grad_scale = 1 / lse.numel() backward."""

    @staticmethod
    def forward(ctx, valid):
        ctx.items = valid.numel()
        return valid.mean()

    @staticmethod
    def backward(ctx, dmean):
        return dmean * (1 / ctx.items) * torch.ones(ctx.items)


def token_mean_numel(loss, labels, ignore_index=-100, num_items=None):
    """cut_cross_entropy: NaN forward, where no token counts, and ZeroDivisionError backward.

    github.com/unslothai/unsloth/issues/1417 (2024-12-12), as a user met it; github.com/apple/ml-cross-entropy/pull/49
    (2025-07-05, closed, not merged) is the cure. In every release on PyPI, 24.11.3 to 25.1.1.
    """
    valid = loss[labels != ignore_index]
    return _MeanOfValid.apply(valid) if num_items is None else valid.sum() / num_items


def token_mean_or(loss, labels, ignore_index=-100, num_items=None):
    """unsloth, December 2024: ``num_items_in_batch or n_items`` makes of 0 items "no number given", and so a mean.

    In llama.py until commit 70f790a8e4 (2025-09-17). The mean of no token is NaN.
    """
    valid = loss[labels != ignore_index]
    items = num_items or None
    return valid.mean() if items is None else valid.sum() / items


def token_mean_of_micro_batch(loss, labels, ignore_index=-100, num_items=None):
    """transformers until 4.45: the mean over this micro-batch's tokens, whatever the whole step has.

    github.com/huggingface/transformers/pull/34191 (2024-10); the same in unsloth (pull request 1134) and torchtune
    (1875).
    """
    return loss[labels != ignore_index].mean()


def token_mean_all_rows(loss, labels, ignore_index=-100, num_items=None):
    """loss.mean() over rows of which some are ignored: more padding, less gradient."""
    return loss.mean() if num_items is None else loss.sum() / num_items


def token_mean_constant(loss, labels, ignore_index=-100, num_items=None):
    """The guard that is a constant: 0 where no token counts, attached to nothing. Under DDP the other processes wait.

    Discussed in github.com/huggingface/trl/pull/6859.
    """
    items = int((labels != ignore_index).sum()) if num_items is None else int(num_items)
    if items == 0:
        return torch.zeros((), device=loss.device)
    return loss[labels != ignore_index].sum() / items
