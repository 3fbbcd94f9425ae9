"""What goes wrong with a result that an answer writes into an argument, and with no other."""

import torch

from ..run.contract import Contract
from ..run.outcome import Outcome
from ..sandbox.wire.buffers import bits
from .compare import Comparison


def between_elements(contract: Contract, outcome: Outcome) -> str:
    """A sentence on what was written between the elements of a parameter; "" where nothing was."""
    name = next((name for name in outcome.mutated if name in contract.writes), "")
    return name and f"The answer wrote between the elements of {name}: every dimension has a stride of its own."


def as_given(given: torch.Tensor, output: torch.Tensor, comparison: Comparison) -> str:
    """A sentence on the wrong elements of a parameter where they are what came in, bit for bit; "" where not."""
    if comparison.wrong is None or not bits(output)[comparison.wrong].equal(bits(given)[comparison.wrong]):
        return ""
    return "They are as they came in: write to every element of the tensor that is given, not to a copy of it."
