"""Answers whose gradient PyTorch takes: whether the result is attached to the graph, and what flows back."""

from collections.abc import Callable
from typing import Any

import torch

UPSTREAM = -0.75  # what arrives from above: not 1, so that nobody can leave it out


class Unattached(Exception):
    """The result has no gradient with respect to the input that is asked for. result: without its graph."""

    def __init__(self, message: str, result: torch.Tensor):
        super().__init__(message)
        self.result = result


def followed(function: Callable[..., Any], place: int, what: str, of: str) -> Callable[..., Any]:
    """``function``, whose result is ``what``, followed by the gradient for `UPSTREAM` of the argument ``of`` at
    ``place``.
    """

    def both(*args: Any) -> Any:
        leaf = args[place].detach().requires_grad_()
        result = function(*args[:place], leaf, *args[place + 1 :])
        if not isinstance(result, torch.Tensor):
            return result
        gradient = None
        if result.requires_grad:
            upstream = torch.full_like(result.detach(), UPSTREAM)
            (gradient,) = torch.autograd.grad(result, leaf, upstream, allow_unused=True)
        if gradient is None:
            raise Unattached(
                f"{what} is not attached to the graph of {of}: backward() does not reach the parameters, and where "
                "several processes train together, the others wait for gradients that never come.",
                result.detach(),
            )
        return result.detach(), gradient

    return both
