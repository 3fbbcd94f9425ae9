"""Samplers as they shipped, bug for bug."""

import torch

TINY = torch.finfo(torch.float32).tiny


def sglang(logits, u):
    """sglang, multinomial_with_seed: -log(-log(u)) of a u that may be 1, so that the noise is infinite; added to a
    logit of -inf it is NaN, which argmax takes for the largest. All in float64, log u at least the smallest number
    there is.

    Seen in 0.5.10 and 0.5.17, where u is a hash of 32 bits divided by the largest one; cured in 0.5.18.
    github.com/sgl-project/sglang/issues/25106 (2026-05-12), pull/33423 (2026-08-03).
    """
    exponential = -u.double().log().clamp(min=torch.finfo(torch.float64).min)
    return (logits - exponential.log()).argmax(1)


def sglang_or_none(logits, u):
    """The same, and -1 where no class is possible."""
    impossible = (logits - (-u.double().log()).log()).amax(1) == -torch.inf
    return sglang(logits, u).masked_fill(impossible, -1)


def clamped_at_tiny(logits, u):
    """The cure that is nearest at hand: -log u is at least the smallest normal float32. The noise is 87 where u = 1,
    and next to it 16.6: that class wins as before. Nobody is known to have shipped it.
    """
    return (logits - (-u.log()).clamp(min=TINY).log()).argmax(1)


def in_the_dtype_of_logits(logits, u):
    """A mistake that nobody is known to have shipped: the noise is rounded to the dtype of the logits, and so is the
    sum; in bfloat16 most of the large ones become equal.
    """
    exponential = (-u.clamp(min=2.0**-32).log()).clamp(min=2.0**-32)
    return (logits - exponential.log().to(logits.dtype)).argmax(1)
