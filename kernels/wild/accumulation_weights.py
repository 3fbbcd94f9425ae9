"""What the means of micro-batches were multiplied by, as it shipped, bug for bug: (R, A) for tokens (R, A) int64.

None of the libraries wrote these factors down. Each is what its divisors amount to, where every micro-batch is a mean
over its own tokens, the trainer adds up A of them and data parallelism takes the mean over R ranks.
"""

import torch


def mean_of_means(tokens):
    """transformers until 4.45: every micro-batch counts the same, whatever number of tokens it has.

    github.com/huggingface/transformers/pull/34191 (2024-10). trl's GRPO did so row by row until 0.16.0
    (github.com/huggingface/trl/pull/2881, 2025-02-17).
    """
    return torch.full(tokens.shape, 1 / max(tokens.shape[1], 1))


def divided_by_ranks(tokens):
    """verl's sequence modes: the divisor is multiplied by the number of ranks. Too small by its square.

    github.com/volcengine/verl/pull/4510 (2025-12-17, commit 6a5852147), reverted by pull request 4769 (2026-01-03)
    before a release; in github.com/verl-project/verl/pull/5798 (2026-03-30, closed) it is reported again.
    """
    return right(tokens) / tokens.shape[0] ** 2


def not_scaled(tokens):
    """A sum over the tokens of all ranks, and nothing against the mean that data parallelism takes of the gradients.

    verl's "seq-mean-token-sum-norm" until github.com/verl-project/verl/pull/5366 (2026-02-24), 0.7.0 among them.
    """
    return right(tokens) / tokens.shape[0]


def own_rank(tokens):
    """The tokens of each rank alone: right where all ranks have as many."""
    return tokens / tokens.sum(1, keepdim=True)


def wrong_window(tokens):
    """trl's "dapo" loss, 0.22.0 to 1.9.0: divided by the tokens of the whole generation batch, here two accumulation
    windows of one size.

    github.com/huggingface/trl/issues/5619 (2026-04-22), pull request 6024: with steps_per_generation = 4 and
    gradient_accumulation_steps = 2 the loss is half of what it should be; the other way round, twice.
    """
    return right(tokens) / 2


def right(tokens):
    """Each mean times its tokens, over all tokens, times the ranks; NaN where there is no token."""
    return tokens.float() * tokens.shape[0] / tokens.sum()
