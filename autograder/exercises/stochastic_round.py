"""Float32 to bfloat16 at random, with given bits: exact. Case: torchao's _fp32_to_bf16_sr."""

import torch
from torch import Generator, Tensor

from ...kernels.wild import stochastic_round as wild
from ..judge import Arguments, CommonMistake, Exercise, Output, Tolerance, Values, WildBug, case, draw
from .cases.wording import A_REST, AGAIN, KEEP_NOTHING, ONE_BLOCK

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


def bits(*sizes: int) -> Values:
    """Random bits."""
    return draw.by(lambda generator: torch.randint(0, HALF, sizes, generator=generator, dtype=torch.int32))


def words(upper: Tensor, lower: Tensor) -> Tensor:
    """The float32 numbers of these upper halves, from -32768 to 32767, and lower halves."""
    return (upper.int() * HALF + lower).int().view(torch.float32)


def every(lower: Values) -> Values:
    """All 65,536 upper halves, zeros, infinities and NaN among them, with these lower halves. What lies between -0 and
    the next number is left out: the sign of 0 is asked where x is 0.
    """

    def made(lower: Tensor) -> Tensor:
        upper = torch.arange(-(2**15), 2**15)
        upper[0] += lower[0] > 0
        return words(upper, lower)

    return lower.map(made)


def below_the_next(*sizes: int) -> Values:
    """Numbers near 1 that `FEW_BITS` leave where they are, and that rounding to nearest would not."""
    return draw.integers(*sizes, low=0x3F00, high=0x40FF).map(lambda upper: words(upper, torch.tensor(0xC000)))


def lower_half(x: Tensor) -> Tensor:
    """The lower 16 bits."""
    return x.view(torch.int32).long() % HALF


def full_or_any(generator: Generator) -> Tensor:
    """Half of them all ones, the others any bits."""
    full = torch.rand(HALF, generator=generator) < 0.5
    return torch.where(full, HALF - 1, torch.randint(0, HALF, (HALF,), generator=generator, dtype=torch.int32)).int()


def edge(x: Tensor, bits: Tensor) -> None:
    """Bits that just carry, or are one short of it."""
    bits += HALF - lower_half(x)
    bits.clamp_(0, HALF - 1)


def off_the_edge(generator: Generator, x: Tensor) -> Tensor:
    """Random bits that neither just carry nor are one short of it: that is asked where it is asked at every seed."""
    random_half = torch.randint(0, HALF, x.shape, generator=generator, dtype=torch.int32)
    close = (lower_half(x) + random_half - HALF).abs() <= 2
    return random_half + torch.where(close, torch.where(random_half < HALF // 2, 9, -9), 0).int()


LOWER, ONE_BIT = draw.integers(HALF, low=0, high=HALF - 1), draw.integers(HALF, low=0, high=1).to(torch.int32)
FEW_BITS = 0x1000  # of one element, so that no wrong rounding is right by chance
LARGEST = torch.tensor([0x7F7F, -0x81])  # the largest finite upper halves, of both signs
EVERY = "All 65,536 bfloat16 values, zeros, infinities and NaN among them, "
CARRY = WildBug(
    who="torchao 0.7.0 to 0.18.0",
    thread="torchao/optim/quant_utils.py, _fp32_to_bf16_sr",
    function=wild.stochastic_round_carry,
    seen_by="NaN of all kinds",
    story="The NaN of NVIDIA's GPUs is 0x7fffffff. Rounded up, its upper half is 0x8000: a NaN becomes -0. "
    "One whose upper half is that of infinity becomes infinite where nothing carries.",
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
        case(
            "ordinary values",
            "Begin here: 4096 positive numbers. Write the 32 bits of one down, and add the bits to the lower 16.",
            x=draw.normal(4096).map(torch.abs),
            bits=draw.by(off_the_edge),
        ),
        case(AGAIN, KEEP_NOTHING, x=draw.normal(4096).map(torch.abs), bits=draw.by(off_the_edge)),
        case("one block", ONE_BLOCK, x=draw.normal(1024), bits=draw.by(off_the_edge)),
        case("three blocks and a rest", A_REST, x=draw.normal(3109), bits=draw.by(off_the_edge)),
        case(
            "small and large",
            "Numbers of 1e-30. Are the bits added to the word or to the number?",
            x=draw.normal(1000).scale(1e-30),
            bits=draw.by(off_the_edge),
        ),
        case(
            "every bfloat16 value, and some more",
            EVERY + "each with a random lower half: the float32 numbers between it and the next.",
            x=every(LOWER),
            bits=draw.by(off_the_edge),
        ),
        case(
            "every bfloat16 value as it is",
            EVERY + "as they are: what fits is not moved by any bits.",
            x=every(draw.full(HALF, value=0)),
            bits=draw.by(full_or_any),
        ),
        case(
            "just above every bfloat16 value",
            EVERY + "one step above each: 65,535 is the only number of bits that carries.",
            x=every(draw.full(HALF, value=1)),
            bits=ONE_BIT.map(lambda bit: HALF - 1 - bit),
        ),
        case(
            "just below every bfloat16 value",
            EVERY + "one step below the next: bits of 0 are the only ones that do not carry.",
            x=every(draw.full(HALF, value=HALF - 1)),
            bits=ONE_BIT,
        ),
        case(
            "bits that just carry",
            EVERY + "each with bits that just make 65,536, or are one short of it.",
            Arguments.named(x=every(LOWER), bits=ONE_BIT.map(torch.neg)).change(edge),
        ),
        case(
            "every lower half",
            "All float32 numbers from 1 to the next bfloat16.",
            x=draw.tensor([0x3F80]).map(lambda upper: words(upper, torch.arange(HALF))),
            bits=draw.by(off_the_edge),
        ),
        case(
            "both infinities",
            "Infinity has an empty lower half, and bits in it would make it NaN; it is kept.",
            x=draw.signs(300).scale(float("inf")),
            bits=bits(300),
        ),
        case(
            "NaN of all kinds",
            "NaN is an exponent of ones and anything but 0 behind it: 0x7fffffff on NVIDIA's GPUs, 0x7fc00000 here. "
            "What is 0x7fff + 1, and what is left of 0x7f800001 without its lower half?",
            x=draw.tensor(NANS * 40, torch.int32).map(lambda word: word.view(torch.float32)),
            bits=bits(len(NANS) * 40),
        ),
        case(
            "the largest finite",
            "Above the largest bfloat16 the next number is infinity.",
            x=draw.integers(400, low=0, high=HALF - 1).map(lambda lower: words(LARGEST.repeat(200), lower)),
            bits=bits(400),
        ),
        case(
            "one element",
            "One element: in a kernel, one lane of a block; the others are masked off.",
            x=below_the_next(1),
            bits=draw.tensor([FEW_BITS], torch.int32),
        ),
        case(
            "no dimensions",
            "x.shape may be (): count elements with numel().",
            x=below_the_next(),
            bits=draw.tensor(FEW_BITS, torch.int32),
        ),
        case("no elements", "An empty tensor: return an empty bfloat16 tensor.", x=draw.normal(0, 3), bits=bits(0, 3)),
        case(
            "three dimensions",
            "16,385 elements, several blocks.",
            x=draw.normal(5, 29, 113),
            bits=draw.by(off_the_edge),
        ),
        case(
            "transposed",
            "Both are transposed: y is not.",
            x=draw.normal(37, 53).transposed(),
            bits=draw.by(off_the_edge).transposed(),
        ),
        case(
            "every second column",
            "The stride of the last dimension is 2.",
            x=draw.normal(9, 31).every_second(),
            bits=draw.by(off_the_edge).every_second(),
        ),
    ),
    tolerance=Tolerance(0, 0, "Bits are right or wrong."),
    hint="Read x as an int32, add the bits, clear the lower 16, read it as a float32. Infinity and NaN are kept.",
    upcast=False,
    wild=(CARRY, NEAREST, CUT_OFF, OTHER_WAY),
    points=4,
    least_bytes=lambda x, bits: 10 * x.numel(),
    traffic=1.05,
    about=(
        "just above every bfloat16 value",
        "just below every bfloat16 value",
        "bits that just carry",
        "every lower half",
        "both infinities",
        "NaN of all kinds",
    ),
)
