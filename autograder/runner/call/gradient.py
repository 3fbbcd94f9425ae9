"""Answers whose gradient PyTorch takes: whether the result is attached to the graph, and what flows back."""

import math
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

_UPSTREAM = (-0.75, 0.625, -0.5, 0.875, -0.875, 0.375, -0.625, 0.75)  # not 1, so that nobody can leave it out


def upstream_of(result: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Returns what arrives from above at a result of this shape where the gradient of ``given`` is asked for: a number
    for each element. They follow from all values of ``given``, whatever their dtype, so that no answer has them by
    heart.
    """
    values = result.detach().double().nan_to_num().contiguous()
    drawn = np.random.default_rng(zlib.crc32(values.numpy().tobytes())).choice(_UPSTREAM, math.prod(shape))
    return torch.from_numpy(drawn).float().reshape(tuple(shape))


class Unattached(Exception):
    """The result has no gradient with respect to the input that is asked for. result: without its graph."""

    def __init__(self, message: str, result: torch.Tensor):
        super().__init__(message)
        self.result = result


def followed(function: Callable[..., Any], place: int, what: str, of: str) -> Callable[..., Any]:
    """``function``, whose result is ``what``, followed by the gradient for `upstream_of` of the argument ``of`` at
    ``place``. Between the two the function is called on other numbers, and their gradient is taken first: what belongs
    to a call is in its graph, and nowhere else.
    """

    def both(*args: Any) -> Any:
        leaf = args[place].detach().requires_grad_()
        result = function(*args[:place], leaf, *args[place + 1 :])
        if isinstance(result, torch.autograd.Function):
            name = type(result).__name__
            raise TypeError(f"{name}(...) makes an object, and computes nothing: call `{name}.apply({of})`")
        if not isinstance(result, torch.Tensor):
            return result
        gradient = None
        if result.requires_grad:
            upstream = upstream_of(args[place], result.shape).to(result.dtype)
            other = (1 - leaf.detach()).requires_grad_()
            later = function(*args[:place], other, *args[place + 1 :])
            torch.autograd.grad(later, other, upstream, allow_unused=True)
            (gradient,) = torch.autograd.grad(result, leaf, upstream, allow_unused=True)
        if gradient is None:
            raise Unattached(
                f"{what} is not attached to the graph of {of}: backward() does not reach the parameters, and where "
                "several processes train together, the others wait for gradients that never come.",
                result.detach(),
            )
        return result.detach(), gradient

    return both
