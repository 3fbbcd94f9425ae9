"""Parts of a router and a gate as they shipped, bug for bug."""

import torch
import torch.nn.functional as F


def balance_loss_of_probabilities(logits, k=2):
    """transformers 5.0.0 to 5.5.4, Mixtral and nine other models: the router returned its probabilities as
    router_logits, and the loss took a softmax of them once more.

    github.com/huggingface/transformers/issues/45120 (2026-03-30); right in 5.6.0, by pull request 45131.
    """
    router_logits = logits.float().softmax(1)
    weights = router_logits.softmax(1)
    chosen = F.one_hot(weights.topk(k, 1).indices, logits.shape[1]).float()
    return logits.shape[1] * (chosen.mean(0) * weights.mean(0)).sum()


def expert_weights_always_normalised(logits, k=2):
    """minimind, until github.com/jingyaogong/minimind/issues/858 (2026-09-17): the weights of the chosen experts are
    divided by their sum. Of one expert that is w / w = 1, and the router has no gradient: ``k = 1`` was the default.
    """
    top, chosen = logits.float().softmax(1).topk(k, 1)
    top = top / (top.sum(1, keepdim=True) + 1e-20)
    return torch.zeros(logits.shape).scatter(1, chosen, top)


def decay_with_another_precedence(d, dt):
    """flash-linear-attention 0.5.1, Mamba-3: the clamp binds before the minus. Softplus is above every negative number,
    so the clamp returns -floor, and the minus makes it positive: a state that grows, whatever d is.

    fla/layers/mamba3.py, until github.com/fla-org/flash-linear-attention/pull/1012 (9b047584, 2026-07-08).
    """
    A = -F.softplus(d.float()).clamp(max=-1e-4)
    return torch.exp(A * dt.float())
