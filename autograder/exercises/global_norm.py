"""The norm of all gradients of a model. Cases: burn#5699, jax#39899, fairscale#263."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from ...kernels.wild import gradient_norm as wild
from ..judge import (
    AGAIN,
    EPS,
    KEEP_NOTHING,
    Case,
    CommonMistake,
    Exercise,
    Floors,
    Inputs,
    Output,
    Tolerance,
    WildBug,
    Witness,
    every_second,
    leaning_walk,
    normal,
    transposed,
    with_gaps,
)
from ..runner import Args

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
Kind = tuple[torch.dtype, *tuple[int, ...]]  # of a gradient: its dtype and shape


def norm(grads: list[Tensor]) -> Tensor:
    """√ΣΣ g² in float64."""
    return sum((g.square().sum() for g in grads), torch.zeros((), dtype=torch.float64)).sqrt()


def floor(grads: list[Tensor]) -> Floors:
    """A float32 sum of squares in any order, whose root is half as wrong."""
    return (EPS * (4 + leaning_walk(sum(g.numel() for g in grads)) / 2) * norm(grads),)


def _drawn(*kinds: Kind, scale: float = 1.0) -> Inputs:
    return lambda generator: ([normal(generator, shape, dtype, scale) for dtype, *shape in kinds],)


def _filled(*tensors: tuple[torch.dtype, int, float]) -> Inputs:
    """Tensors of ``count`` numbers of ±value."""

    def inputs(generator: Generator) -> Args:
        signs = (torch.randint(0, 2, (count,), generator=generator) * 2 - 1 for _, count, _ in tensors)
        return ([(sign * value).to(dtype) for sign, (dtype, _, value) in zip(signs, tensors, strict=True)],)

    return inputs


def _with(value: float) -> Inputs:
    """Three gradients, in one of which one number is ``value``."""

    def inputs(generator: Generator) -> Args:
        ((first, second, third),) = _drawn((F32, 5, 7), (F32, 300), (F32, 130))(generator)
        second[int(torch.randint(0, 300, (), generator=generator))] = value
        return ([first, second, third],)

    return inputs


def _strided(generator: Generator) -> Args:
    layouts: tuple[Callable[[Tensor], Tensor], ...] = (
        transposed,
        every_second,
        with_gaps,
        lambda g: g[:1].expand(6, 40),
    )
    return ([layout(normal(generator, (6, 40))) for layout in layouts],)


def _one_buffer(generator: Generator) -> Args:
    buffer = normal(generator, (700,))
    return ([buffer[:300], buffer[300:]],)


IN_HALF = WildBug(
    who="burn 0.7.0 to 0.22.0-pre.2",
    thread="tracel-ai/burn#5699",
    function=wild.norm_in_half,
    seen_by="300 in float16",
    story="The square of 300 is 90,000, more than float16 holds. The norm is infinite, and what it divides becomes 0.",
)
NARROWED = WildBug(
    who="jax's jnp.linalg.norm in 2026",
    thread="jax-ml/jax#39899",
    function=wild.norms_narrowed,
    seen_by="many of 100 in float16",
    story="The sum of squares was taken in float32, and rounded to float16 one operation before the root.",
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
        Case(
            "ordinary values",
            _drawn((F32, 5, 7), (F32, 300), (F32, 130)),
            "Begin here: three gradients. One sum of squares over all of them, and one root at the end.",
        ),
        Case(AGAIN, _drawn((F32, 5, 7), (F32, 300), (F32, 130)), KEEP_NOTHING),
        Case(
            "300 in float16",
            _filled((F16, 1, 300.0), (F16, 40, 300.0)),
            "The square of 300 is 90,000, and the largest float16 is 65,504. Square in float32.",
        ),
        Case(
            "many of 100 in float16",
            _filled((F16, 900, 100.0)),
            "Each square, 10,000, is a float16, and so is the norm, 3000. What lies between them is not.",
        ),
        Case(
            "small in float16",
            _filled((F16, 300, 1e-4), (F16, 300, 2e-6)),
            "The square of 1e-4 is 1e-8, which is 0 in float16.",
        ),
        Case("small in float32", _drawn((F32, 300), (F32, 20), scale=1e-15), "Numbers of 1e-15, squares of 1e-30."),
        Case(
            "three dtypes",
            _drawn((F32, 4, 5), (F16, 333), (BF16, 6, 7)),
            "Gradients of three dtypes in a list: each is converted for itself, and the norm is float32.",
        ),
        Case(
            "bfloat16",
            _drawn((BF16, 40, 50), (BF16, 999)),
            "Add up in float32: a bfloat16 sum ends at 256 times a term.",
        ),
        Case(
            "of unlike size",
            lambda generator: ([normal(generator, (500,), scale=10.0**-k) for k in range(5)],),
            "From gradients of 1 to gradients of 1e-4.",
        ),
        Case("zeros", _filled((F32, 300, 0.0), (F16, 5, 0.0)), "The norm of zeros is 0."),
        Case(
            "infinity",
            _with(float("inf")),
            "One gradient is infinite, and so is the norm. Whether to step is not decided here.",
        ),
        Case("NaN", _with(float("nan")), "One gradient is NaN, and so is the norm: it must not get lost."),
        Case("no gradients", lambda generator: ([],), "An empty list: the sum of nothing is 0, and it is a tensor."),
        Case(
            "some without elements", _drawn((F32, 3), (F32, 0, 4), (F32, 5)), "A tensor without elements adds nothing."
        ),
        Case("one element", _drawn((F32, 1)), "One number: the norm is its magnitude."),
        Case("no dimensions", _drawn((F32,), (F32, 3)), "A gradient's shape may be (): count elements with numel()."),
        Case("one past a block", _drawn((F32, 1025), (F32, 4097)), "One more than 1024, and one more than 4096."),
        Case(
            "several blocks",
            _drawn((F32, 29, 565), (BF16, 20_011)),
            "Tensors of many blocks: does each one of them find its way into the sum?",
        ),
        Case(
            "two hundred tensors",
            lambda generator: ([normal(generator, (1 + k % 7,)) for k in range(200)],),
            "200 small tensors, one norm.",
        ),
        Case("strided", _strided, "Gradients of any strides: transposed, every second column, with gaps, stride 0."),
        Case("views of one buffer", _one_buffer, "Two gradients lie side by side in one buffer, as in a bucket."),
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
    hint="The largest float16 is 65,504. Which norm is a float16, while its square is not?",
    complaint=lambda grad: (
        "The gradient has an element, and all of them are finite."
        if not grad.numel() or not grad.isfinite().all()
        else "Its norm does not fit into its dtype either: only the sum of squares is to be lost."
        if norm([grad.double()]) > torch.finfo(grad.dtype).max
        else ""
    ),
)
