"""What the differentiable functions have in common as operations of PyTorch's graph, and of torch.func's transforms.

Outputs and gradients are computed by `Function` and `gradient`. Under vmap both are called once for each sample: a
kernel takes the address of a tensor, and a batch of samples has none. Nothing here has a derivative in forward mode.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad


class Function(torch.autograd.Function):
    """``forward``, ``setup_context`` and ``backward`` are the function's own; vmap is one call for each sample."""

    @classmethod
    def vmap(cls, info, in_dims, *inputs):
        samples = []
        for i in range(info.batch_size):
            sample = (x if dim is None else x.select(dim, i) for x, dim in zip(inputs, in_dims, strict=True))
            samples.append(cls.apply(*sample))
        if isinstance(samples[0], tuple):
            return tuple(map(torch.stack, zip(*samples, strict=True))), (0,) * len(samples[0])
        return torch.stack(samples), 0


class _Gradient(Function):
    """A gradient as a function of tensors; a derivative of it is an error, whoever asks for it.

    With PyTorch's own once_differentiable a penalty on the gradient of a sum is silently left out of a loss's gradient:
    a gradient of ones needs no gradient, and `torch.autograd.grad` does not reach the error.
    """

    @staticmethod
    def forward(name, compute, *inputs):
        return compute(*inputs)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.name = inputs[0]

    @staticmethod
    def backward(ctx, *_):
        raise RuntimeError(f"{ctx.name} is differentiable once: there is no derivative of its gradient")


def gradient(name: str, compute: Callable[..., Any], *inputs: Any) -> Any:
    """compute(*inputs), one gradient or a tuple, in the ``backward`` of the function called ``name``."""
    return compute(*inputs) if torch.compiler.is_compiling() else _Gradient.apply(name, compute, *inputs)


def unaliased(y: torch.Tensor) -> torch.Tensor:
    """y as ``forward`` returns it: under torch.compile a tensor that is nothing else there.

    PyTorch 2.11.0 compiles a gradient of 0 where the output is an intermediate tensor, too, as after ``.to`` of the
    dtype that it has: ``return (x * x).to(x.dtype)`` shows it; 2.13.0 is right.
    """
    return y.clone() if torch.compiler.is_compiling() else y


def check_mode(op: str, *tensors: torch.Tensor) -> None:
    """Raises NotImplementedError where a tensor has a tangent. torch.compile would take its derivative for 0."""
    if any(map(_has_tangent, tensors)):
        raise NotImplementedError(
            f"{op} has no derivative in forward mode (torch.func.jvp, jacfwd, forward_ad): use torch.func.vjp or jacrev"
        )


def _has_tangent(x: torch.Tensor) -> bool:
    try:
        return forward_ad.unpack_dual(x).tangent is not None
    except RuntimeError:  # a batch of vmap's, which PyTorch refuses when it reaches the function
        return False
