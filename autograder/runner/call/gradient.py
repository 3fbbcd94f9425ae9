"""Answers whose gradient PyTorch takes: whether the result is attached to the graph, and what flows back."""

from collections.abc import Callable
from typing import Any

import torch

from .contract import Contract

UPSTREAM = -0.75  # what arrives from above: not 1, so that nobody can leave it out


class Unattached(Exception):
    """The result has no gradient with respect to the input that is asked for. result: without its graph."""

    def __init__(self, message: str, result: torch.Tensor):
        super().__init__(message)
        self.result = result


def with_gradient(contract: Contract, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, and where the contract has ``gradient_of``, followed by that input's gradient for `UPSTREAM`."""
    if not contract.gradient_of:
        return function
    place = contract.parameters.index(contract.gradient_of)

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
            what, of = contract.outputs[0], contract.gradient_of
            raise Unattached(
                f"{what} is not attached to the graph of {of}: backward() does not reach the parameters, and where "
                "several processes train together, the others wait for gradients that never come.",
                result.detach(),
            )
        return result.detach(), gradient

    return both
