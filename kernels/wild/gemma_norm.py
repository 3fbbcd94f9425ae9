"""Gemma's RMS norm as it shipped, bug for bug."""

import torch


def gemma_norm_rounded_sum(x, weight, eps=1e-6):
    """transformers 4.38.0 to 4.38.2, GemmaRMSNorm: the row is rounded to the dtype of x, and 1 + weight to that of
    weight, before their product is. Float32 throughout since 4.39.0.

    github.com/huggingface/transformers/pull/29402 (2024-03-02).
    """
    v = x.float()
    normal = v * torch.rsqrt(v.pow(2).mean(-1, keepdim=True) + eps)
    return (normal.type_as(x) * (1 + weight)).to(x.dtype)


def gemma_norm_without_one(x, weight, eps=1e-6):
    """A mistake that nobody is known to have kept: y = x · rstd · weight, as in every other RMS norm."""
    v = x.float()
    return (v * torch.rsqrt(v.pow(2).mean(-1, keepdim=True) + eps) * weight.float()).to(x.dtype)
