"""Attention probabilities, computed once more from lse, as they shipped, bug for bug."""

import math

import torch


def probabilities_of_scaled_keys(q, k):
    """FastVideo, gradient of block-sparse attention in Triton: the keys are multiplied by scale · log2(e) and rounded
    to bfloat16 before the product, and lse is that of the forward pass, which rounds nothing.

    Until github.com/hao-ai-lab/FastVideo/pull/1730 (2026-08-21).
    """
    scale = 1 / math.sqrt(q.shape[1])
    lse = ((q.float() @ k.float().T) * scale).logsumexp(1, keepdim=True)
    scaled = (k.float() * (scale * math.log2(math.e))).bfloat16()
    return torch.exp2(q.float() @ scaled.float().T - lse * math.log2(math.e))
