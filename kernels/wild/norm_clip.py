"""The clipping of gradients by their norm, as it shipped, bug for bug."""

import torch


def clip_factor_logical_not(total_norm, max_norm=1.0):
    """What DeepSpeed multiplies every gradient by (loss scale 1): inf_or_nan * -1 + inf_or_nan.logical_not() * norm.

    An infinite norm was to become -1, "invalid", and the factor 1; False * inf is NaN, and so is the factor. In
    deepspeed/runtime/zero/stage_1_and_2.py from commit 61daaa1ea (2024-02-03, tag v0.13.2) to v0.16.5; an `if` since
    github.com/deepspeedai/DeepSpeed/pull/7171 (2025-03-29, v0.16.6).
    """
    inf_or_nan = total_norm.isnan().logical_or(total_norm.isinf())
    total_norm = inf_or_nan * torch.tensor(-1.0) + inf_or_nan.logical_not() * total_norm
    return 1 / torch.clamp((total_norm + 1e-6) / max_norm, min=1.0)
