"""What goes wrong with a result that an answer writes into an argument, and with a list that it is given."""

from collections.abc import Container

import torch

from ..runner import Outcome, Tree
from .closeness import Comparison


def between_elements(written: Container[str], outcome: Outcome) -> str:
    """A sentence on what was written between the elements of a tensor; "" where nothing was. written: the names of
    those whose elements are results.
    """
    name = next((name for name in outcome.mutated if name in written), "")
    return name and f"The answer wrote between the elements of {name}: every dimension has a stride of its own."


def relisted(outcome: Outcome) -> str:
    """A sentence on a list that does not hold the tensors that came in; "" where there is none."""
    if not outcome.relisted:
        return ""
    took = f"The answer took tensors out of the list {outcome.relisted[0]}, or put others in"
    return f"{took}: leave it as it was given."


def as_given(given: torch.Tensor, output: torch.Tensor, comparison: Comparison) -> str:
    """A sentence on the wrong elements of a parameter where they are what came in, bit for bit; "" where not."""
    wrong = comparison.wrong
    if wrong is None or not Tree((output[wrong],)).same_bits((given[wrong],)):
        return ""
    return "They are as they came in: write to every element of the tensor that is given, not to a copy of it."
