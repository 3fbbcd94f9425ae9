"""A step of the optimizer Lion as it shipped, bug for bug."""

import torch


def lion_step_decay_in_the_sign(param, grad, m, lr=1e-4, beta=0.9, decay=0.01):
    """bitsandbytes, 32-bit Lion on CUDA, in Triton and by default: the decay is added to the gradient, as for the
    optimizers beside it in the kernel, and so goes through the sign.

    github.com/bitsandbytes-foundation/bitsandbytes/issues/1992 (2026-07-08), pull requests 1993 and 2001.
    """
    g = grad.float() + decay * param.float()
    return param.float() - lr * torch.sign(beta * m.float() + (1 - beta) * g)
