"""From what a family of cases draws to the arguments of an exercise."""

from collections.abc import Callable

from torch import Generator

from ...runner import Args

# (generator, *the tensors that a case draws, *the numbers and words that it sets) -> the exercise's arguments, in their
# order. What a case leaves at its default is not handed over, as in a call.
MakeArguments = Callable[..., Args]


def as_they_are(generator: Generator, *given: object) -> Args:
    """The arguments of an exercise whose signature is what a case hands over."""
    return given
