"""The norm of gradients and what they are multiplied by, as they shipped, bug for bug."""

import torch


def norm_in_half(grads):
    """burn: square().sum().sqrt() in the dtype of the gradient. In float16 300² is infinite, and so is the norm.

    l2_norm in crates/burn-optim/src/grad_clipping/base.rs (before, in burn-core), tags v0.7.0 to v0.22.0-pre.2, there
    of each tensor alone. github.com/tracel-ai/burn/issues/5699 (2026-09-16, open).
    """
    total = torch.zeros(())
    for g in grads:
        total = total + g.square().sum().float()
    return total.sqrt()


def squares_in_half(grads):
    """The same where a sum is taken in float32: the squares alone are rounded."""
    return sum((g.square().float().sum() for g in grads), torch.zeros(())).sqrt()


def norm_narrowed(grad):
    """jax, jnp.linalg.norm: squares are added up in float32, and the sum is rounded to the input's dtype before its
    root.

    github.com/jax-ml/jax/issues/39899 (2026-08-11, open). jax 0.10.2 from PyPI: inf for nine numbers of 100 in
    float16.
    """
    return grad.float().square().sum().to(grad.dtype).sqrt().float()


def norms_narrowed(grads):
    """`norm_narrowed` of each tensor, and the norm of these."""
    total = torch.zeros(())
    for g in grads:
        total = total + norm_narrowed(g).square()
    return total.sqrt()


def sums_narrowed(grads):
    """The same with one root, of the sum over all tensors."""
    return sum((g.float().square().sum().to(g.dtype).float() for g in grads), torch.zeros(())).sqrt()


def sum_of_norms(grads):
    """The norms of the tensors, added up: at least as large as the norm of all, and larger where there are two."""
    return sum((g.float().norm() for g in grads), torch.zeros(()))


def coefficient_pytorch(norm, max_norm):
    """torch.nn.utils.clip_grad_norm_, torch 2.13.0: clamp(max_norm / (norm + 1e-6), max=1), 0 where the norm is inf.

    Finite gradients with a norm that overflowed become 0, and nobody is told unless error_if_nonfinite is set:
    github.com/pytorch/pytorch/issues/46849 (2020). A negative max_norm turns gradients around: #31367 (2019, open).
    """
    return (max_norm / (norm + 1e-6)).clamp(max=1.0)


def coefficient_without_min(norm, max_norm):
    """max_norm / norm, also where the norm is below the limit: small gradients are lengthened."""
    return max_norm / norm
