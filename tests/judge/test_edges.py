"""Every public function, and every Triton answer, at the edges: no element and one, memory that lies in another way,
arguments that do not fit. A function that is added is among them.
"""

import functools
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import pytest
import torch
from answers import our_answer
from differentiable import backward_of, call_named, inputs_with_gradients
from graded_kernels import kernels
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.gpu import Emulator
from graded_kernels.autograder.judge.records.record import Exercise
from graded_kernels.autograder.runner import Tree
from library import LABELS, random
from planted import Uninitialised
from turns import one_in

Named = dict[str, Any]  # arguments by name


@dataclass
class Subject:
    """A function with arguments whose sizes tell their axes apart. reference: the same by PyTorch.

    leaves: of which it has gradients. writes: what it changes in place.
    """

    function: Callable
    reference: Callable
    named: Named
    leaves: list[str] = field(default_factory=list)
    writes: tuple[str, ...] = ()

    @property
    def tensors(self) -> list[str]:
        return [name for name, a in self.named.items() if Tree((a,)).tensors]


def heads(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    return [random(*shape, seed=seed) for seed, shape in enumerate(shapes)]


def named(names: str, *values: Any) -> Named:
    return dict(zip(names.split(), values, strict=True))


IN_PLACE = {"adamw_step": ("param", "m", "v"), "clip_by_global_norm": ("grads",)}
LEAVES = {"cross_entropy": ["logits"], "decay_scan": ["x", "log_decay"], "linear_cross_entropy": ["hidden", "weight"]}
ARGUMENTS = {  # where the parameters are not the record's, or more can be had than in its first case
    "adamw_step": named("param grad m v step", *heads((3, 7), (3, 7), (3, 7)), random(3, 7).abs(), 3),
    "attention": named("q k v key_lengths", *heads((2, 6, 5, 8), (2, 3, 7, 8), (2, 3, 7, 8)), torch.tensor([7, 4])),
    "clip_by_global_norm": {"grads": heads((3, 7), (5,), ()), "max_norm": 1.5},
    "cross_entropy": {"logits": random(3, 4, 7), "labels": LABELS},
    "decay_scan": {"x": random(5, 3), "log_decay": -random(5).abs()},
    "gumbel_argmax": {"logits": random(3, 4, 7), "u": random(3, 4, 7, seed=5).sigmoid()},
    "layer_norm": named("x weight bias", *heads((3, 4, 7), (7,), (7,))),
    "linear_cross_entropy": {"hidden": random(3, 4, 5), "weight": random(7, 5), "labels": LABELS},
    "quantize_blocks": {"x": random(3, 5, 40), "block": 16},
    "quantize_mx": {"x": random(3, 5, 96)},
    "rms_norm": named("x weight", *heads((3, 4, 7), (7,))),
    "scaled_matmul": named(
        "a a_scale b b_scale",
        random(5, 192, scale=40).to(torch.int8),
        random(5, 3),
        random(192, 7, seed=4, scale=40).to(torch.int8),
        random(3, 7, seed=5),
    ),
}
NOT_ASKED = {  # sizes that an answer's contract excludes
    "scaled_matmul": lambda a, a_scale, b, b_scale: (
        0 in (*a.shape, *b_scale.shape) or a.shape[1] % (32 * a_scale.shape[1]) != 0
    ),
}
PLACES = {"experts": ("logits", -1), "slots": ("rows", 0)}  # indices: of what, along which axis; -1 is none


def public(name: str) -> Subject:
    function = getattr(kernels, name)
    forward = EXERCISES.get(f"{name}_forward")
    leaves = LEAVES.get(name) or (inputs_with_gradients(backward_of(forward)) if forward else [])
    return Subject(function, function, ARGUMENTS.get(name) or first_case(forward), leaves, IN_PLACE.get(name, ()))


def answer(name: str) -> Subject:
    record = EXERCISES[name]
    reference = our_answer(name, "torch") if "torch" in record.backends else record.oracle
    return Subject(our_answer(name, "triton"), reference, first_case(record), writes=record.writes)


def first_case(record: Exercise) -> Named:
    """Its arguments; what is elementwise as a matrix."""
    given = call_named(record, record.cases[0].name)
    elementwise = {a.shape for a in Tree(tuple(given.values())).tensors} == {(1000,)}
    return changed(given, lambda a: a.view(8, 125) if elementwise else a)


def changed(given: Named, change: Callable[[torch.Tensor], torch.Tensor]) -> Named:
    return dict(zip(given, Tree(tuple(given.values())).map(change), strict=True))


PUBLIC = [f"kernels.{name}" for name in kernels.__all__]
ANSWERS = [name for name, one in EXERCISES.items() if isinstance(one, Exercise) and "triton" in one.backends]
each = pytest.mark.parametrize(
    "name", [*PUBLIC, *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ANSWERS)]
)


def subject_of(name: str) -> Subject:
    return public(name.removeprefix("kernels.")) if name in PUBLIC else answer(name)


def results(subject: Subject, given: Named, view=lambda dy: dy, by_triton: bool = True) -> list[torch.Tensor]:
    """What it returns, the gradients of its leaves for a ``view`` of random numbers, and what it writes."""
    function = subject.function if by_triton else subject.reference
    given = {name: a.detach().requires_grad_() if name in subject.leaves else a for name, a in given.items()}
    module = sys.modules[function.__module__]
    with patch.object(module, "use_triton", lambda x: by_triton, create=True), Emulator() as emulator:
        with Uninitialised(emulator):
            found = [y for y in Tree.of(function(**given)).args if y is not None]
            if subject.leaves:
                dy = view(random(*found[0].shape, dtype=found[0].dtype, seed=9))
                found += torch.autograd.grad(found[0], [given[name] for name in subject.leaves], dy)
            found += Tree(tuple(given[name] for name in subject.writes)).tensors
        unwritten = [emulator.unwritten(one.detach()) for one in found]
    assert emulator.findings == ()
    assert unwritten == [None] * len(found)
    return found


def cut(a: torch.Tensor, size: int, new: int) -> torch.Tensor:
    """a with ``new`` elements along its axes of this size; twice as many where it has twice as many. Labels fit."""
    for axis, length in enumerate(a.shape):
        if length in (size, 2 * size):
            a = a.narrow(axis, 0, new * length // size)
    if a.dtype == torch.int64 and a.numel() and a.min() == -100:
        a = a.clamp(max=0) if new else torch.full_like(a, -100)
    return a.clone()


def fitting(given: Named) -> Named:
    """With -1 for each index of what is no longer there."""
    for name, (of, axis) in PLACES.items():
        if name in given:
            given[name] = given[name].where(given[name] < given[of].shape[axis], -1)
    return given


@each
def test_no_element_and_one(name):
    """Along each axis in turn, also of a row without an element. A public function that refuses it says so."""
    subject = subject_of(name)
    sizes = {size for a in Tree(tuple(subject.named.values())).tensors for size in a.shape}
    for size in sizes - {2 * one for one in sizes}:
        for new in (0, 1):
            given = fitting(changed(subject.named, lambda a, size=size, new=new: cut(a, size, new)))
            if name in NOT_ASKED and NOT_ASKED[name](**given):
                continue
            try:
                expected = results(subject, changed(given, torch.clone), by_triton=False)
            except Exception as error:
                if name in PUBLIC:
                    assert isinstance(error, ValueError)
                    with pytest.raises(ValueError, match=name.removeprefix("kernels.")):
                        results(subject, given)
                continue
            for one, right in zip(results(subject, given), expected, strict=True):
                torch.testing.assert_close(one.double(), right.double(), rtol=1e-4, atol=1e-4, equal_nan=True)


LAYOUTS: dict[str, tuple[int, Callable]] = {  # least number of axes
    "every second element": (1, lambda a: torch.stack((a, a.flip(-1)), -1).flatten(-2)[..., ::2]),
    "inside longer rows": (1, lambda a: torch.cat((a, a, a.flip(-1)), -1)[..., a.shape[-1] : 2 * a.shape[-1]]),
    "transposed": (2, lambda a: a.mT.contiguous().mT),
    "first axis last": (3, lambda a: a.movedim(0, -1).contiguous().movedim(-1, 0)),
    "one column, expanded": (1, lambda a: a[..., :1].expand(a.shape)),
    "one row, expanded": (2, lambda a: a[:1].expand(a.shape)),
}


@functools.cache
def side_by_side(name: str, by_triton: bool) -> list[torch.Tensor]:
    subject = subject_of(name)
    return results(subject, changed(subject.named, torch.clone), by_triton=by_triton)


AS_THEY_ARE = {  # contiguous, as the exercise says
    "expert_weights_forward": {"experts"},
    "expert_weights_backward": {"experts", "weights"},
    "moe_sum_forward": {"weights", "slots"},
    "moe_sum_backward": {"weights", "slots"},
}
DISTINCT = {"kernels.expert_weights": {"experts"}, "kernels.moe_sum": {"slots"}}  # in a row: none may be expanded
OF_PUBLIC = one_in(5, itertools.product(PUBLIC, LAYOUTS))  # of six layouts
OF_ANSWERS = [pytest.param(*row, marks=pytest.mark.exhaustive) for row in itertools.product(ANSWERS, LAYOUTS)]


@pytest.mark.parametrize(("name", "layout"), OF_PUBLIC + OF_ANSWERS)
def test_memory_that_lies_otherwise(name, layout):
    """Each tensor in turn, and the gradient that comes in, as the same numbers side by side; by PyTorch, too."""
    subject, (least, view) = subject_of(name), LAYOUTS[layout]

    def laid(a):
        return view(a) if a.dim() >= least else a

    for argument in [*subject.tensors, *(["dy"] if subject.leaves else [])]:
        written = argument in subject.writes
        if written and name in ANSWERS:
            continue  # they are contiguous, as the exercise says
        if argument in AS_THEY_ARE.get(name, ()) or ("expanded" in layout and argument in DISTINCT.get(name, ())):
            continue
        if argument != "dy" and all(a.dim() < least for a in Tree((subject.named[argument],)).tensors):
            continue
        for by_triton in (True, False) if name in PUBLIC else (True,):
            given, alike = (changed(subject.named, torch.clone) for _ in range(2))
            views = [laid, lambda dy: laid(dy).contiguous()]
            if argument != "dy":
                (given[argument],) = Tree((given[argument],)).map(laid)
                (alike[argument],) = Tree((alike[argument],)).map(lambda a: laid(a).contiguous())
                views = [torch.Tensor.contiguous] * 2
            if written and "expanded" in layout:
                with pytest.raises(ValueError, match="make it contiguous first"):
                    results(subject, given, by_triton=by_triton)
                continue
            found = results(subject, given, views[0], by_triton)
            numbers_stay = "expanded" not in layout
            right = side_by_side(name, by_triton) if numbers_stay else results(subject, alike, views[1], by_triton)
            for one, other in zip(found, right, strict=True):
                apart = 0 if by_triton or one.dtype == torch.float8_e4m3fn else 1e-5
                torch.testing.assert_close(one, other, rtol=apart, atol=apart, equal_nan=True)


@pytest.mark.parametrize("name", PUBLIC)
def test_what_does_not_fit_is_named(name):
    """Integers, a tensor on another device, and numbers without an axis where rows are asked for."""
    subject, name = subject_of(name), name.removeprefix("kernels.")
    first, *others = subject.tensors
    wrong = [
        Tree((subject.named[first],)).map(torch.Tensor.int)[0],
        *(subject.named[one].to("meta") for one in others),
    ]
    for argument, value in zip(subject.tensors, wrong, strict=True):
        with pytest.raises(ValueError, match=f"^{name}: .*{argument}"):
            subject.function(**subject.named | {argument: value})
    try:
        results(subject, changed(subject.named, lambda a: a.flatten()[0].clone()))
    except ValueError as error:
        assert str(error).startswith(f"{name}: ")
