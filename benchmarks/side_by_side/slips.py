"""Five slips of kernels, as functions that a patched problem calls in place of PyTorch's.

Each is right on some inputs and wrong on others: epsilon outside of the root; exp without subtracting the maximum;
another axis (a patch of one number, nothing here); sums kept in half precision; zeros that fill up the last block.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

BLOCK = 16  # elements that a program takes at once
CHUNK = 4  # terms that are added up before a partial sum is rounded


# Epsilon outside of the root.


def normalized(x: Tensor, dims: tuple[int, ...], eps: float, weight: Tensor | None = None, bias: Tensor | None = None):
    deviation = x.var(dims, correction=0, keepdim=True).sqrt()
    return affine((x - x.mean(dims, keepdim=True)) / (deviation + eps), weight, bias)


def group_norm(x: Tensor, norm: torch.nn.GroupNorm) -> Tensor:
    groups = x.unflatten(1, (norm.num_groups, -1))
    found = normalized(groups, tuple(range(2, groups.dim())), norm.eps).reshape(x.shape)
    return affine(found, _by_channel(norm.weight, x), _by_channel(norm.bias, x))


def batch_norm(x: Tensor, norm: torch.nn.Module) -> Tensor:
    dims = (0, *range(2, x.dim()))
    F.batch_norm(x, norm.running_mean, norm.running_var, training=True, momentum=norm.momentum)  # its statistics
    norm.num_batches_tracked.add_(1)
    return normalized(x, dims, norm.eps, _by_channel(norm.weight, x), _by_channel(norm.bias, x))


def affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    return x if weight is None else x * weight + bias


def _by_channel(parameter: Tensor, x: Tensor) -> Tensor:
    return parameter.view(-1, *[1] * (x.dim() - 2))


# No maximum.


def softmax(x: Tensor, dim: int) -> Tensor:
    e = x.exp()
    return e / e.sum(dim, keepdim=True)


def logsumexp(x: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    return x.exp().sum(dim, keepdim=keepdim).log()


def log_softmax(x: Tensor, dim: int) -> Tensor:
    return x - logsumexp(x, dim, True)


def softplus(x: Tensor) -> Tensor:
    return (1 + x.exp()).log()


def tanh(x: Tensor) -> Tensor:
    return (x.exp() - (-x).exp()) / (x.exp() + (-x).exp())


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v


def cross_entropy(x: Tensor, labels: Tensor) -> Tensor:
    return -log_softmax(x, 1).gather(1, labels[:, None]).mean()


# Sums in half precision.


def half(f: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """What ``f`` gives in half precision."""
    return f(*(t.half() for t in tensors)).to(tensors[0].dtype)


def half_sum(x: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    total: Tensor | float = 0.0
    for chunk in x.split(CHUNK, dim):
        total = (total + chunk.sum(dim, keepdim=keepdim)).half().to(x.dtype)
    return total


def half_mean(x: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    return half_sum(x, dim, keepdim) / x.shape[dim]


def half_matmul(a: Tensor, b: Tensor) -> Tensor:
    total: Tensor | float = 0.0
    for left, right in zip(a.split(CHUNK, -1), b.split(CHUNK, -2), strict=True):
        total = (total + left @ right).half().to(a.dtype)
    return total


def half_linear(x: Tensor, linear: torch.nn.Linear) -> Tensor:
    found = half_matmul(x, linear.weight.mT)
    return found if linear.bias is None else found + linear.bias


def half_cumsum(x: Tensor, dim: int) -> Tensor:
    total, found = torch.zeros_like(x.select(dim, 0)), []
    for term in x.unbind(dim):
        total = (total + term).half().to(x.dtype)
        found.append(total)
    return torch.stack(found, dim) if found else x.clone()


def half_conv(x: Tensor, conv: torch.nn.Module) -> Tensor:
    """The convolution, a channel of the input after the other."""
    function = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[x.dim()]
    total: Tensor | float = 0.0
    for channel, weight in zip(x.split(1, 1), conv.weight.split(1, 1), strict=True):
        total = (total + function(channel, weight, stride=conv.stride, padding=conv.padding)).half().to(x.dtype)
    return total if conv.bias is None else total + _by_channel(conv.bias, x)


# Zeros that fill up the last block.


def padded(x: Tensor, dim: int, block: int = BLOCK) -> Tensor:
    """``x`` with zeros up to whole blocks, as a load with `other=0` has it."""
    missing = -x.shape[dim] % block
    shape = list(x.shape)
    shape[dim] = missing
    return torch.cat([x, x.new_zeros(shape)], dim)


def cut(f: Callable[..., Tensor], x: Tensor, dim: int, block: int = BLOCK) -> Tensor:
    """A function of whole rows, called on padded ones."""
    return f(padded(x, dim, block)).narrow(dim, 0, x.shape[dim])


def unfinished(y: Tensor, block: int = BLOCK) -> Tensor:
    """A result whose last block is written only where it is whole: 0 in the rest."""
    whole = y.numel() // block * block
    return torch.where(torch.arange(y.numel()) < whole, y.reshape(-1), 0).reshape(y.shape)
