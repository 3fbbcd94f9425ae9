"""The norm of all gradients of a model. Cases: burn#5699, jax#39899, fairscale#263."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from ...kernels.wild import gradient_norm as wild
from ..judge import (
    Arguments,
    Case,
    Category,
    CommonMistake,
    Exercise,
    Floors,
    Output,
    Tolerance,
    WildBug,
    Witness,
    case,
    draw,
)
from ..runner import Args
from .cases.elementwise import normal
from .cases.rounding import EPS, leaning_walk
from .cases.wording import AGAIN, KEEP_NOTHING

F16, BF16 = torch.float16, torch.bfloat16


def norm(grads: list[Tensor]) -> Tensor:
    """√ΣΣ g² in float64."""
    return sum((g.square().sum() for g in grads), torch.zeros((), dtype=torch.float64)).sqrt()


def floor(grads: list[Tensor]) -> Floors:
    """A float32 sum of squares in any order, whose root is half as wrong."""
    return (EPS * (4 + leaning_walk(sum(g.numel() for g in grads)) / 2) * norm(grads),)


def one_number(value: float) -> Callable[[Generator, list[Tensor]], None]:
    """One number of the second gradient is ``value``."""

    def change(generator: Generator, grads: list[Tensor]) -> None:
        grads[1][int(torch.randint(0, 300, (), generator=generator))] = value

    return change


def listed_twice(generator: Generator) -> Args:
    tied = normal(generator, (30, 5))
    return ([tied, normal(generator, (40,)), tied],)


THREE = Arguments.named(grads=[draw.normal(5, 7), draw.normal(300), draw.normal(130)])


def one_buffer(generator: Generator) -> Args:
    buffer = normal(generator, (700,))
    return ([buffer[:300], buffer[300:]],)


IN_HALF = WildBug(
    who="burn 0.7.0 to 0.22.0-pre.2",
    thread="tracel-ai/burn#5699",
    function=wild.norm_in_half,
    seen_by="300 in float16",
    story="The square of 300 is 90,000, more than float16 holds. The norm is infinite, and what it divides becomes 0.",
    variants=(wild.squares_in_half,),
)
NARROWED = WildBug(
    who="jax's jnp.linalg.norm in 2026",
    thread="jax-ml/jax#39899",
    function=wild.norms_narrowed,
    seen_by="many of 100 in float16",
    story="The sum of squares was taken in float32, and rounded to float16 one operation before the root.",
    variants=(wild.sums_narrowed,),
)
ADDED = CommonMistake(
    who="the norms of the tensors, added up",
    function=wild.sum_of_norms,
    seen_by="ordinary values",
    story="Norms do not add up: squares do. The norm of a model is at most the sum of those of its tensors.",
)

global_norm = Exercise(
    name="global_norm",
    summary="√Σ g² over all numbers of all gradients, in float32",
    oracle=norm,
    outputs=(Output("norm", torch.float32),),
    cases=(
        case(
            "ordinary values",
            "Begin here: three gradients. One sum of squares over all of them, and one root at the end.",
            THREE,
        ),
        case(AGAIN, KEEP_NOTHING, THREE),
        case(
            "300 in float16",
            "The square of 300 is 90,000, and the largest float16 is 65,504. Square in float32.",
            grads=[draw.signs(1).scale(300.0).to(F16), draw.signs(40).scale(300.0).to(F16)],
        ),
        case(
            "many of 100 in float16",
            "Each square, 10,000, is a float16, and so is the norm, 3000. What lies between them is not.",
            grads=[draw.signs(900).scale(100.0).to(F16)],
        ),
        case(
            "small in float16",
            "The square of 1e-4 is 1e-8, which is 0 in float16.",
            grads=[draw.signs(300).scale(1e-4).to(F16), draw.signs(300).scale(2e-6).to(F16)],
        ),
        case(
            "small in float32",
            "Numbers of 1e-15, squares of 1e-30.",
            grads=[draw.normal(300).scale(1e-15), draw.normal(20).scale(1e-15)],
        ),
        case(
            "three dtypes",
            "Gradients of three dtypes in a list: each is converted for itself, and the norm is float32.",
            grads=[draw.normal(4, 5), draw.normal(333).to(F16), draw.normal(6, 7).to(BF16)],
        ),
        case(
            "bfloat16",
            "Add up in float32: a bfloat16 sum ends at 256 times a term.",
            grads=[draw.normal(40, 50).to(BF16), draw.normal(999).to(BF16)],
        ),
        case(
            "of unlike size",
            "From gradients of 1 to gradients of 1e-4.",
            grads=[draw.normal(500).scale(10.0**-k) for k in range(5)],
        ),
        case("zeros", "The norm of zeros is 0.", grads=[draw.signs(300).scale(0.0), draw.signs(5).scale(0.0).to(F16)]),
        case(
            "infinity",
            "One gradient is infinite, and so is the norm. Whether to step is not decided here.",
            THREE.change(one_number(float("inf"))),
        ),
        case(
            "NaN",
            "One gradient is NaN, and so is the norm: it must not get lost.",
            THREE.change(one_number(float("nan"))),
        ),
        case("no gradients", "An empty list: the sum of nothing is 0, and it is a tensor.", grads=[]),
        case(
            "some without elements",
            "A tensor without elements adds nothing.",
            grads=[draw.normal(3), draw.normal(0, 4), draw.normal(5)],
        ),
        case("one element", "One number: the norm is its magnitude.", grads=[draw.normal(1)]),
        case(
            "no dimensions",
            "A gradient's shape may be (): count elements with numel().",
            grads=[draw.normal(), draw.normal(3)],
        ),
        case(
            "one past a block",
            "One more than 1024, and one more than 4096.",
            grads=[draw.normal(1025), draw.normal(4097)],
        ),
        case(
            "several blocks",
            "Tensors of many blocks: does each one of them find its way into the sum?",
            grads=[draw.normal(29, 565), draw.normal(20_011).to(BF16)],
        ),
        case(
            "thousands of blocks",
            "5,000,001 numbers: nearly 4900 blocks of 1024. Does what adds up their sums read all of them?",
            grads=[draw.normal(5_000_001).to(F16)],
        ),
        case("two hundred tensors", "200 small tensors, one norm.", grads=[draw.normal(1 + k % 7) for k in range(200)]),
        case(
            "strided",
            "Gradients of any strides: transposed, every second column, with gaps, stride 0.",
            grads=[
                draw.normal(6, 40).transposed(),
                draw.normal(6, 40).every_second(),
                draw.normal(6, 40).with_gaps(),
                draw.normal(6, 40).one_row(),
            ],
        ),
        Case("views of one buffer", one_buffer, "Two gradients lie side by side in one buffer, as in a bucket."),
        Case(
            "one tensor twice",
            listed_twice,
            "A tensor that is in the list twice counts twice: take each tensor of the list, not each address.",
            category=Category.EDGES,
        ),
    ),
    tolerance=Tolerance(1, 8, "A float32 sum of squares in any order; the root halves its relative error.", floor),
    hint="Convert, square, add: all in float32. The root is the last operation, and the only one.",
    wild=(IN_HALF, NARROWED, ADDED),
    points=4,
    least_bytes=lambda grads: 4 + sum(g.numel() * g.element_size() for g in grads),
    traffic=1.2,
    about=("300 in float16", "many of 100 in float16", "small in float16"),
)

norm_witness = Witness(
    name="norm_witness",
    summary="(grad,) whose norm is lost where the sum of squares is rounded to its dtype",
    exercise=Exercise(
        name="gradient_norm",
        summary="the norm of one gradient",
        oracle=lambda grad: norm([grad]),
        outputs=(Output("norm", torch.float32),),
        cases=(),
        tolerance=Tolerance(
            8, 8, "A witness should convict at a glance: more than 1 %.", lambda grad: (0.01 * norm([grad]),)
        ),
        hint="",
    ),
    bug=WildBug(
        who=NARROWED.who,
        thread=NARROWED.thread,
        function=wild.norm_narrowed,
        seen_by="",
        story=NARROWED.story,
    ),
    asked="1 % of the norm",
    hint="The largest float16 is 65,504. Which norm is a float16, while its square is not?",
    complaint=lambda grad: (
        "The gradient has an element, and all of them are finite."
        if not grad.numel() or not grad.isfinite().all()
        else "Its norm does not fit into its dtype either: only the sum of squares is to be lost."
        if norm([grad.double()]) > torch.finfo(grad.dtype).max
        else ""
    ),
)
