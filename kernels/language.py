"""Triton, where it is installed; elsewhere stand-ins, so that every op still imports and runs through PyTorch."""

import functools
import math

import torch

try:
    import triton
    import triton.language as tl
except ModuleNotFoundError as missing:
    if missing.name != "triton":
        raise

    class _Absent:
        """Stands where a Triton module would. A kernel can be defined with it, and says what is missing when
        launched.
        """

        constexpr = None

        def jit(self, function):
            return self

        def __getitem__(self, grid):
            raise ModuleNotFoundError("Triton is not installed: pip install triton (Linux; on Windows use WSL2)")

        def __call__(self, *args, **kwargs):
            return self

    triton = tl = _Absent()


def use_triton(x: torch.Tensor) -> bool:
    """Whether x goes through Triton: on CUDA, unless it is float64, in which no kernel here computes."""
    return x.is_cuda and x.dtype != torch.float64 and hasattr(triton, "runtime")


def in_full(x: torch.Tensor) -> torch.autocast:
    """Switches autocast off on x's device: it would round PyTorch's matrix products to half precision, and these ops
    compute in float32, as their kernels do.
    """
    return torch.autocast(x.device.type, enabled=False)


def sole(y: torch.Tensor) -> torch.Tensor:
    """y as ``forward`` of an autograd function returns it: under torch.compile a tensor that is nothing else there.

    PyTorch 2.11.0 compiles a gradient of 0 where the output is an intermediate tensor, too, as after ``.to`` of the
    dtype that it has: ``return (x * x).to(x.dtype)`` shows it; 2.13.0 is right.
    """
    return y.clone() if torch.compiler.is_compiling() else y


class _Once(torch.autograd.Function):
    """Gradients as they are; a derivative of them is an error."""

    @staticmethod
    def forward(ctx, name, count, *tensors):
        ctx.name = name
        return tuple(tensor.detach() for tensor in tensors[:count])

    @staticmethod
    def backward(ctx, *_):
        raise RuntimeError(f"{ctx.name} is differentiable once: there is no derivative of its gradient")


def differentiable_once(backward):
    """Makes a second derivative an error, whatever the gradient that comes in is, and whoever asks for it.

    With PyTorch's own once_differentiable a penalty on the gradient of a sum is silently left out of a loss's gradient:
    a gradient of ones needs no gradient, and `torch.autograd.grad` does not reach the error.
    """

    @functools.wraps(backward)
    def wrapper(ctx, *gradients):
        with torch.no_grad():
            outputs = backward(ctx, *gradients)
        if not torch.is_grad_enabled() or torch.compiler.is_compiling():
            return outputs
        found = [one for one in (outputs if isinstance(outputs, tuple) else (outputs,)) if one is not None]
        name = backward.__qualname__.partition(".")[0]
        marked = iter(_Once.apply(name, len(found), *found, *gradients, *ctx.saved_tensors))
        if not isinstance(outputs, tuple):
            return next(marked)
        return tuple(one if one is None else next(marked) for one in outputs)

    return wrapper


def as_matrix(x: torch.Tensor) -> torch.Tensor:
    """x of any shape (..., N) as a matrix (M, N). PyTorch does not work out a size of -1 where another one is 0."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def expanded(x: torch.Tensor) -> bool:
    """Whether several elements of x are one number in memory: what is written to one of them is written to all."""
    return any(not stride and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True))


def describe(x: torch.Tensor) -> str:
    """Shape, dtype and device in words, for error messages: ``(3, 5) float32 on cpu``."""
    return f"{tuple(x.shape)} {str(x.dtype).removeprefix('torch.')} on {x.device}"


def check_tensors(op: str, axes: int = 0, /, **given: torch.Tensor | None) -> None:
    """Raises ValueError where the first tensor is not floating point or has fewer axes, or another one lies on another
    device. A kernel would round its result to integers, or take an address for one of its own device's.
    """
    (name, x), *others = ((name, one) for name, one in given.items() if one is not None)
    if not x.is_floating_point():
        raise ValueError(f"{op}: {name} must be floating point; it is {describe(x)}: {name}.float() makes it float32")
    if x.dim() < axes:
        raise ValueError(f"{op}: {name} is (..., N), with a last axis at least; it is {describe(x)}")
    for other, y in others:
        if y.device != x.device:
            raise ValueError(f"{op}: {name} is {describe(x)}, so {other} must be on {x.device}; it is {describe(y)}")


def once(op: torch.library.CustomOpDef, name: str) -> None:
    """Makes the derivative of ``op``, a gradient, an error that says so."""

    def refuse(ctx, *_):
        raise RuntimeError(f"{name} is differentiable once: there is no derivative of its gradient")

    op.register_autograd(refuse)
