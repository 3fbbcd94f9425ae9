"""What records and families of cases share."""

import math
from collections.abc import Callable

import torch
from torch import Generator, Tensor

from ...runner import Args

View = Callable[[Tensor], Tensor]  # of a tensor's memory

# (generator, *the tensors that a case draws, *the numbers and words that it sets) -> the exercise's arguments, in their
# order. What a case leaves at its default is not handed over, as in a call.
MakeArguments = Callable[..., Args]


def as_they_are(generator: Generator, *given: object) -> Args:
    """The arguments of an exercise whose signature is what a case hands over."""
    return given


EPS = 2.0**-23  # one ulp of float32 at 1


def walk(n: int) -> float:
    """What a float32 sum of ``n`` numbers of one size may lose, in EPS of the sum of their magnitudes.

    An addition is off by at most half an ulp of the sum so far, up or down: over n of them, one after the other, the
    root mean square of a random walk is √n / 8 or, where the largest comes first, √n / 5. Five times that does not
    happen.
    """
    return math.sqrt(n)


def leaning_walk(n: int) -> float:
    """The same of numbers from none to many times their mean, as squares and exponentials are.

    What is below half an ulp of the sum so far is lost whole, and fewer are rounded up in its place: in the cases of
    20,011 such numbers the roundings lean by up to 1/50 of an ulp a number, one by one, at 100 seeds; in blocks they do
    not. The worst case, which no numbers that a seed draws come near, is n / 2.
    """
    return walk(n) + n / 32


HALVES = (torch.float16, torch.bfloat16)

AGAIN = "the same shape again"
KEEP_NOTHING = (
    "A shape seen before, with other values: is anything of the first call kept? If not, the first case passed by "
    "luck: work the element above out."
)
STEP_BY_STEP = "Work the element above out in PyTorch, step by step: which step is the first to differ?"


def transposed(x: Tensor) -> Tensor:
    """The same numbers, those of a column next to each other."""
    return x.mT.contiguous().mT


def every_second(x: Tensor) -> Tensor:
    """The same numbers as every second column of a tensor twice as wide."""
    return torch.stack((x, x.flip(-1)), -1).flatten(-2)[..., ::2]


def with_gaps(x: Tensor) -> Tensor:
    """The same numbers in rows that are longer: NaN lies between one row and the next."""
    return torch.nn.functional.pad(x, (3, 30), value=torch.nan)[..., 3:-30]


def one_number(x: Tensor) -> Tensor:
    """What ``.sum()`` hands back: one number for the whole shape, at stride 0."""
    return x.new_tensor(-0.7).expand(x.shape)


def one_row(x: Tensor) -> Tensor:
    """Every index of the first dimension is the first one, at stride 0."""
    return x[:1].expand(x.shape)


def as_it_is(x: Tensor) -> Tensor:
    """Returns x itself: the view of a contiguous tensor."""
    return x
