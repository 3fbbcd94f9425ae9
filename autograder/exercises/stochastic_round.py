"""Float32 to bfloat16 at random, with given bits: exact. Case: torchao's _fp32_to_bf16_sr."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from ...kernels.wild import stochastic_round as wild
from ..judge import (
    AGAIN,
    KEEP_NOTHING,
    Case,
    CommonMistake,
    Exercise,
    Inputs,
    Output,
    Tolerance,
    View,
    WildBug,
    as_it_is,
    every_second,
    normal,
    transposed,
)
from ..runner import Args

HALF = 2**16  # values of 16 bits
NANS = (0x7FC00000, 0x7FFFFFFF, 0x7F800001, 0x7FFF0001, -1, -0x3FFFFF, -0x7FFFFF)  # as int32: NaN of all kinds


def rounded(x: Tensor, bits: Tensor) -> Tensor:
    """x towards 0 to the next bfloat16, and one further away from 0 where its lower half and ``bits`` make 65536."""
    word = x.contiguous().view(torch.int32).long()
    lower = word % HALF
    upper = word - lower + HALF * (lower + bits >= HALF)
    upper = torch.where(x.isfinite(), upper, word)
    signed = torch.where(upper >= 2**31, upper - 2**32, upper).int()
    return torch.where(x.isfinite(), signed.view(torch.float32), x).double()


def _random_bits(generator: Generator, shape: tuple[int, ...]) -> Tensor:
    return torch.randint(0, HALF, shape, generator=generator, dtype=torch.int32)


def _drawn(*shape: int, scale: float = 1.0, view: View = as_it_is) -> Inputs:
    return lambda generator: (
        view(normal(generator, shape, scale=scale)),
        view(_random_bits(generator, shape)),
    )


def _words(upper: Tensor, lower: Tensor | int) -> Tensor:
    """The float32 numbers of these upper halves, from -32768 to 32767, and lower halves."""
    return (upper.int() * HALF + lower).int().view(torch.float32)


UPPER = torch.arange(-(2**15), 2**15)


def _every(lower: Callable[[Generator], Tensor | int], bits: Callable[[Generator, Tensor], Tensor]) -> Inputs:
    """All 65,536 upper halves, zeros, infinities and NaN among them."""

    def inputs(generator: Generator) -> Args:
        low = lower(generator)
        filled = torch.full((HALF,), low) if isinstance(low, int) else low
        return _words(UPPER, filled), bits(generator, filled).int()

    return inputs


def _random_lower(generator: Generator) -> Tensor:
    return torch.randint(0, HALF, (HALF,), generator=generator)


def _any_bits(generator: Generator, lower: Tensor) -> Tensor:
    return _random_bits(generator, (HALF,))


def _full_or_any_bits(generator: Generator, lower: Tensor) -> Tensor:
    return torch.where(torch.rand(HALF, generator=generator) < 0.5, HALF - 1, _any_bits(generator, lower))


def _edge(generator: Generator, lower: Tensor) -> Tensor:
    """Bits that just carry, or just do not."""
    return (HALF - lower - torch.randint(0, 2, (HALF,), generator=generator)).clamp(0, HALF - 1)


def _one_upper(generator: Generator) -> Args:
    """Every lower half once, of one upper half, and random bits."""
    return _words(torch.full((HALF,), 0x3F80), torch.arange(HALF)), _random_bits(generator, (HALF,))


def _not_numbers(generator: Generator) -> Args:
    words = torch.tensor(NANS, dtype=torch.int32).repeat(40)
    return words.view(torch.float32), _random_bits(generator, words.shape)


def _infinities(generator: Generator) -> Args:
    signs = torch.randint(0, 2, (300,), generator=generator) * 2.0 - 1
    return signs * float("inf"), _random_bits(generator, (300,))


def _largest(generator: Generator) -> Args:
    """The largest finite upper half, of both signs, with random lower halves: the next number is infinity."""
    words = _words(torch.tensor([0x7F7F, -0x81]).repeat(200), torch.randint(0, HALF, (400,), generator=generator))
    return words, _random_bits(generator, (400,))


EVERY = "All 65,536 bfloat16 values, zeros, infinities and NaN among them, "
CARRY = WildBug(
    who="torchao 0.7.0 to 0.18.0",
    thread="torchao/optim/quant_utils.py, _fp32_to_bf16_sr",
    function=wild.stochastic_round_carry,
    seen_by="NaN of all kinds",
    story="The NaN of NVIDIA's GPUs is 0x7fffffff. Rounded up, its upper half is 0x8000: a NaN becomes -0.",
)
NEAREST = CommonMistake(
    who="random bits added, and the sum rounded to nearest",
    function=wild.stochastic_round_nearest,
    seen_by="both infinities",
    story="Rounded twice: up with odds of a half more. Infinity has an empty lower half; with bits in it, it is NaN.",
)
CUT_OFF = CommonMistake(
    who="bits that never carry into the upper half",
    function=wild.stochastic_round_no_carry,
    seen_by="ordinary values",
    story="Every result is cut off, which is half a step too close to 0 on average.",
)
OTHER_WAY = CommonMistake(
    who="up where it should be down",
    function=wild.stochastic_round_subtract,
    seen_by="ordinary values",
    story="The odds of going up are those of staying: a number just below its neighbour is hardly ever rounded to it.",
)

stochastic_round = Exercise(
    name="stochastic_round",
    summary="the upper half of x plus the carry of its lower half and the bits, as bfloat16; inf and NaN are kept",
    oracle=rounded,
    outputs=(Output("y", torch.bfloat16),),
    cases=(
        Case(
            "ordinary values",
            _drawn(1000),
            "Begin here: 1000 numbers. Take one, write its 32 bits down, and add the random bits to the lower 16.",
        ),
        Case(AGAIN, _drawn(1000), KEEP_NOTHING),
        Case(
            "small and large",
            _drawn(1000, scale=1e-30),
            "Numbers of 1e-30. Are the bits added to the word or to the number?",
        ),
        Case(
            "every bfloat16 value, and some more",
            _every(_random_lower, _any_bits),
            EVERY + "each with a random lower half: the float32 numbers between it and the next.",
        ),
        Case(
            "every bfloat16 value as it is",
            _every(lambda generator: 0, _full_or_any_bits),
            EVERY + "as they are: what fits is not moved by any bits.",
        ),
        Case(
            "just above every bfloat16 value",
            _every(
                lambda generator: 1,
                lambda generator, low: HALF - 1 - torch.randint(0, 2, low.shape, generator=generator),
            ),
            EVERY + "one step above each: 65,535 is the only number of bits that carries.",
        ),
        Case(
            "just below every bfloat16 value",
            _every(
                lambda generator: HALF - 1, lambda generator, low: torch.randint(0, 2, low.shape, generator=generator)
            ),
            EVERY + "one step below the next: bits of 0 are the only ones that do not carry.",
        ),
        Case(
            "bits that just carry",
            _every(_random_lower, _edge),
            EVERY + "each with bits that just make 65,536, or are one short of it.",
        ),
        Case("every lower half", _one_upper, "All float32 numbers from 1 to the next bfloat16."),
        Case(
            "both infinities",
            _infinities,
            "Infinity has an empty lower half, and bits in it would make it NaN; it is kept.",
        ),
        Case(
            "NaN of all kinds",
            _not_numbers,
            "NaN is an exponent of ones and anything but 0 behind it: 0x7fffffff on NVIDIA's GPUs, 0x7fc00000 here. "
            "What is 0x7fff + 1, and what is left of 0x7f800001 without its lower half?",
        ),
        Case("the largest finite", _largest, "Above the largest bfloat16 the next number is infinity."),
        Case("one element", _drawn(1), "One element: in a kernel, one lane of a block; the others are masked off."),
        Case("no dimensions", _drawn(), "x.shape may be (): count elements with numel()."),
        Case("no elements", _drawn(0, 3), "An empty tensor: return an empty bfloat16 tensor."),
        Case("one past a block", _drawn(1025), "1025 elements: one more than a block of 1024."),
        Case("three dimensions", _drawn(5, 29, 113), "16,385 elements, several blocks."),
        Case("transposed", _drawn(37, 53, view=transposed), "Both are transposed: y is not."),
        Case("every second column", _drawn(9, 31, view=every_second), "The stride of the last dimension is 2."),
    ),
    tolerance=Tolerance(0, 0, "Bits are right or wrong."),
    hint="Read x as an int32, add the bits, clear the lower 16, read it as a float32. Infinity and NaN are kept.",
    upcast=False,
    wild=(CARRY, NEAREST, CUT_OFF, OTHER_WAY),
    points=4,
    least_bytes=lambda x, bits: 10 * x.numel(),
    traffic=1.05,
    about=("both infinities", "NaN of all kinds", "bits that just carry"),
)
