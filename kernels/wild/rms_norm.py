"""RMS norm as it shipped, bug for bug: (y, rstd), rstd in float32."""

import torch


def rms_norm_forward_half_squares(x, weight, eps=1e-6):
    """PyTorch 2.4's nn.RMSNorm: squares in the dtype of x, of which float16 holds none above 255².

    github.com/pytorch/pytorch/pull/133085 (2024-08-09), fixed by pull request 134106. LeetCUDA had it until
    github.com/xlite-dev/LeetCUDA/pull/335 (2025-06-09).
    """
    rstd = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    return (x * rstd * weight).to(x.dtype), rstd.squeeze(-1).float()


def rms_norm_forward_rescaled(x, weight, eps=1e-6):
    """coremltools' conversion: the row is divided by its largest element m, eps is not, so that it counts m² times.

    github.com/apple/coremltools/issues/2821 (2026-08-19), open. A row of zeros is 0 / 0.
    """
    v = x.float()
    top = v.abs().amax(-1, keepdim=True)
    rstd = 1 / (torch.sqrt((v / top).pow(2).mean(-1, keepdim=True) + eps) * top)
    return (v * rstd * weight.float()).to(x.dtype), rstd.squeeze(-1)
