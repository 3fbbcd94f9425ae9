"""Arguments that are tuples, lists, dicts, named tuples and dataclasses of tensors: each tensor is one of its own."""

from collections import OrderedDict
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch
import triton
from compared import NO_VALUES
from graded_kernels.autograder.judge.side_by_side import Code, CompareError, compare, inputs, reproduce
from strided_add import add_kernel


def added(x, y, through=0):
    """through: 1 where y is read through the strides of x."""
    x, y = (one if one.stride(1) == 1 else one.contiguous() for one in (x, y))
    o, n = torch.empty(x.shape, dtype=x.dtype), x.shape[1]
    if x.numel():
        strides = x.stride(0), (x if through else y).stride(0)
        add_kernel[(len(x),)](x, y, o, n, *strides, BLOCK=triton.next_power_of_2(n))
    return o


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


@dataclass(frozen=True)
class Cache:
    keys: torch.Tensor
    values: torch.Tensor
    layer: int = 3


def x():
    return torch.randn(5, 12, generator=torch.Generator().manual_seed(len("x")))


KINDS = {
    "tuple": (lambda: ((x(), x()),), lambda pair: pair),
    "list of tuples": (lambda: ([(x(), x()), (x(), x())],), lambda pairs: pairs[1]),
    "named tuple": (lambda: (Pair(x(), x()),), lambda pair: (pair.first, pair.second)),
    "dict": (lambda: ({"a": x(), "b": x()}, 1), lambda given, _: (given["a"], given["b"])),
    "ordered dict": (lambda: (OrderedDict(a=x(), b=x()),), lambda given: (given["a"], given["b"])),
    "dataclass": (lambda: (Cache(x(), x()),), lambda cache: (cache.keys, cache.values[: cache.layer + 2])),
    "by name": (lambda: ((x(),), {"more": {"b": [x(), 2.0]}}), lambda x, *, more: (x, more["b"][0])),
}


def judged(reference, candidate, arguments, **options):
    usual = {"without": NO_VALUES, "compiler": False, "gradients": False}
    return compare(reference, candidate, arguments, **usual | options)


@pytest.mark.parametrize(("example", "two"), KINDS.values(), ids=KINDS)
def test_what_holds_tensors_is_taken_apart_and_built_again(example, two):
    def reference(*args, **named):
        return torch.add(*two(*args, **named))

    def right(*args, **named):
        return added(*two(*args, **named))

    def wrong(*args, **named):
        return added(*two(*args, **named), through=1)

    report = judged(reference, right, example())
    assert report.passed, str(report)
    report = judged(reference, wrong, example())
    failing = [case.name for case in report.cases if case.status in ("fail", "error")]
    assert failing and all("alone, rows with gaps" in name for name in failing), str(report)


def test_each_tensor_has_a_name():
    def add(pair, *, more):
        return pair.first + pair.second + more["b 1"]

    example = ((Pair(x(), x()),), {"more": {"b 1": x()}})
    names = [case.name for case in judged(add, add, example, any_method=True).cases]
    assert {"pair_first alone, transposed", "pair_second alone, transposed", "more_b_1 alone, transposed"} <= {*names}
    assert [one.shape for one in inputs(add, example, "dimension 1 of pair_first: 7")] == [(5, 7)] * 3
    given, actual, expected = reproduce(add, add, example, family="zeros", gradients=False)
    assert len(given) == 3 and torch.equal(actual[0].double(), expected[0])


def test_gradients_reach_the_tensors():
    def product(pair, s):
        return pair.first * pair.second * s

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, s):
            ctx.save_for_backward(a, b, s)
            return a * b * s

        @staticmethod
        def backward(ctx, dy):
            a, b, s = ctx.saved_tensors
            return dy * b * s, dy * a * s, (dy * a * b).sum() * wrong

    example = Pair(x(), x()), torch.tensor(1.5)
    for wrong in (1, 2):
        report = judged(product, lambda pair, s: Product.apply(*pair, s), example, gradients=True, any_method=True)
        assert report.passed is (wrong == 1), str(report)
    assert "ds is wrong" in str(report)


def test_tensors_inside_are_written_in_place():
    def update(cache, k):
        cache["k"][2] = k

    def elsewhere(cache, k):
        cache["k"][1] = k

    example = {"k": x(), "v": x()}, x()[0]
    assert judged(update, update, example, any_method=True).passed
    assert not judged(update, elsewhere, example, any_method=True).passed


def test_what_is_put_into_a_dict_is_told_so():
    def replaces(cache, k):
        cache["k"] = cache["k"] + k
        return cache["k"]

    with pytest.raises(CompareError, match="puts something else into argument 0"):
        judged(replaces, replaces, ({"k": x()}, x()))


@pytest.mark.parametrize(
    "holds", [lambda: SimpleNamespace(k=x()), lambda: {x()}, lambda: {(1, 2): x()}], ids=["object", "set", "keys"]
)
def test_what_is_not_taken_apart_has_a_sentence(holds):
    with pytest.raises(CompareError, match="argument 1 of the example is a|argument 1 is a dict with keys"):
        judged(torch.add, torch.add, (x(), holds()))


def test_a_dict_of_arguments_gives_them_by_name():
    report = judged(lambda *, a, b: a + b, lambda *, a, b: b + a, {"a": x(), "b": x()}, any_method=True)
    assert report.passed, str(report)
    with pytest.raises(CompareError, match="does not take the example's arguments"):
        judged(lambda *, a, b: a + b, lambda *, a, c: a, {"a": x(), "b": x()})


def test_a_default_that_the_example_leaves_out_reaches_a_kernel_as_float32():
    def moved(pair, beta=0.999):
        return beta * pair[0] + (1 - beta) * pair[1]

    def as_a_kernel(pair, beta=0.999):
        beta = float(torch.tensor(beta, dtype=torch.float32))
        return beta * pair[0] + (1 - beta) * pair[1]

    report = judged(moved, as_a_kernel, ((x(), x()),), any_method=True)
    assert report.passed, str(report)


TEXT = """
def f(pair, cache, rest):
    return pair.first + pair.second * cache.keys + rest["a"][0] * cache.layer
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
def test_the_sandbox_builds_the_same(wrong):
    def reference(pair, cache, rest):
        return pair.first + pair.second * cache.keys + rest["a"][0] * cache.layer

    example = Pair(x(), x()), Cache(x(), x()), {"a": (x(), 2)}
    text = TEXT.replace("cache.keys", "cache.values") if wrong else TEXT
    few = ("dimension", "NaN", "infinity", "-infinity", "float16", "rows", "pair", "cache", "every")
    report = judged(reference, Code(text, "f"), example, any_method=True, without=few)
    assert report.passed is not wrong, str(report)
