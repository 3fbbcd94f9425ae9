"""Parts of a scan over a sequence, as they shipped, bug for bug."""

import torch
import torch.nn.functional as F

CHUNK = 16


def chunk_steps_of_padding(dt, bias=-4.0):
    """vllm-gaudi, Mamba-2: the step sizes are padded with zeros to whole chunks, and then get a bias and a softplus.
    Padding is no 0 after that, and the last chunk's sum counts it.

    0.15.1 and 0.16.0, until github.com/vllm-project/vllm-gaudi/pull/1009 (be87dfb0, 2026-03-06). Asked of the original
    in github.com/state-spaces/mamba/issues/368 (2024-06).
    """
    padded = F.pad(dt.float(), (0, -len(dt) % CHUNK))
    return F.softplus(padded + bias).view(-1, CHUNK).sum(1)


def parallel_cumsum(x):
    """Sums from the first element to each, as a GPU's parallel scan adds them: neighbours first, then wider apart. Each
    sum is rounded on another way, and sums of numbers below 0 need not fall from one element to the next.
    """
    step = 1
    while step < len(x):
        x = torch.cat((x[:step], x[step:] + x[:-step]))
        step *= 2
    return x


def decay_to_end_above_one(a):
    """Mamba-2's chunk state: e to the difference of two cumulative sums, which cannot be above 0 but for their
    rounding.

    state-spaces/mamba 2.0.0 to 2.2.4, until github.com/state-spaces/mamba/pull/713 (2e16fc30, 2025-03-31), with a
    minimum of the difference and 0. vLLM until its pull request 37501 (2026-03); sglang's is 23128.
    """
    sums = parallel_cumsum(a.float())
    return torch.exp(sums[-1:] - sums)


def reverse_cumsum_of_the_total(x):
    """flash-linear-attention 0.1.0 to 0.5.2, chunk_local_cumsum(reverse=True): the total less the sum up to x, plus x.

    fla/ops/utils/cumsum.py of d9d936e4 (2024-12-26), until github.com/fla-org/flash-linear-attention/pull/1095
    (3e432dec, 2026-08-18).
    """
    v = x.float()
    return (-v.cumsum(0) + v.sum(0, keepdim=True) + v).to(x.dtype)
