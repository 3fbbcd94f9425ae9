"""Exercises in another kind. The published answers are public, so a class that counts marks can be asked for something
else: a parameter of the teacher's changes the function, and with it oracle, cases, tolerance and witness.

Each variant is made from the exercise as it is published, whose oracle and tolerance it takes at other arguments.
"""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ..run.contract import Args, as_tuple
from .record import Case, Exercise, Floors, Value, Variant, WildBug, Witness


@functools.lru_cache(maxsize=64, typed=True)
def varied(record: Exercise | Witness, value: Value) -> Exercise | Witness:
    """The record as a class is asked for it; itself where value is None. Raises ValueError for a value that the record
    does not take.
    """
    if value is None:
        return record
    if record.variant is None:
        raise ValueError(f"{record.name} has no variant")
    if not record.variant.takes(value):
        raise ValueError(f"{record.variant.parameter} is {record.variant.values}, not {value!r}")
    made: Exercise | Witness = record.variant.made(record, value)
    return made


def value_of(text: str | None) -> Value:
    """The value that was typed: a number, ``True``, or a word."""
    if text is None or text in ("True", "true"):
        return None if text is None else True
    try:
        return float(text)
    except ValueError:
        return text


def in_another_kind(record: Exercise, asks: str, **fields: Any) -> Exercise:
    """``record`` with these fields. The published answer is known by what it computes, and costs nothing to anybody who
    wrote their own: distinctions, which rest on the published formula, are left out.
    """
    cases = tuple(case for case in fields.pop("cases", record.cases) if not case.bonus)
    published = WildBug(
        "the published answer",
        "this class is asked for a variant",
        lambda *args: _rounded(record, args),
        cases[0].name,
        asks,
    )
    more = {"peer": None, "variant": None, "cases": cases, "wild": (published,), "hint": f"{asks} {record.hint}"}
    return replace(record, **(more | fields))


def _rounded(record: Exercise, args: Args) -> Args:
    """The oracle's results, as an answer would return them."""
    values = as_tuple(record.oracle(*record.widened(args)))
    return tuple(value.to(dtype) for value, dtype in zip(values, record.dtypes(args), strict=True))


def is_between(low: float, high: float, but: float | None = None) -> Callable[[Value], bool]:
    return lambda value: isinstance(value, int | float) and value is not True and low <= value <= high and value != but


# SiLU with a slope: s(βx) for s(x).


def _sloped(record: Exercise, beta: Any) -> Exercise:
    """y = x · s(βx) is silu(βx) / β. β x rounds, and so may β: three times the error that e^x takes over from x."""
    floor = record.tolerance.floor
    assert floor is not None
    asks = f"This class is asked for y = x · s({beta:g} x)."
    return in_another_kind(
        record,
        asks,
        summary=f"y = x · s({beta:g} x), s(x) = 1 / (1 + e^-x)",
        oracle=lambda x: record.oracle(beta * x) / beta,
        tolerance=replace(record.tolerance, floor=lambda x: (4 * floor(beta * x)[0] / beta,)),
        peer=lambda x: (F.silu(beta * x.float()) / beta).to(x.dtype),
    )


def _sloped_gradient(record: Exercise, beta: Any) -> Exercise:
    """d(x · s(βx))/dx is the published slope at βx."""
    floor = record.tolerance.floor
    assert floor is not None and record.forward is not None
    asks = f"This class is asked for the gradient of y = x · s({beta:g} x)."
    return in_another_kind(
        record,
        asks,
        summary=f"dx = dy · s(z) · (1 + z · s(-z)), z = {beta:g} x",
        oracle=lambda dy, x: record.oracle(dy, beta * x),
        tolerance=replace(record.tolerance, floor=lambda dy, x: floor(dy, beta * x)),
        peer=lambda dy, x: torch.ops.aten.silu_backward(dy.float(), beta * x.float()).to(x.dtype),
        forward=_sloped(record.forward, beta),
    )


def _sloped_witness(record: Witness, beta: Any) -> Witness:
    """The wild bug with the slope: s(βx) is got back as y / x."""

    def divided_back(dy: Tensor, x: Tensor) -> Any:
        s = x / (1 + torch.exp(-beta * x)) / x
        return dy * (s * (1 + beta * x * (1 - s)))

    bug = replace(record.bug, function=divided_back)
    return replace(record, exercise=_sloped_gradient(record.exercise, beta), bug=bug, variant=None)


_slope = functools.partial(Variant, "silu_slope", "a number from 0.25 to 4 that is not 1", is_between(0.25, 4, but=1))
SLOPE = _slope(
    _sloped,
    lambda beta: f"SiLU has a slope here: **y = x · s({beta:g} x)**, with s(x) = 1 / (1 + e^-x).",
    lambda beta: (("y = x · s(x)", f"y = x · s({beta:g} x)"),),
)
SLOPE_GRADIENT = _slope(
    _sloped_gradient,
    lambda beta: f"SiLU has a slope here: write the gradient of **y = x · s({beta:g} x)**.",
    lambda beta: (("dx = dy · s(x) · (1 + x · s(-x))", f"dx = dy · the slope of x · s({beta:g} x)"),),
)
SLOPE_WITNESS = _slope(
    _sloped_witness,
    lambda beta: f"The bug is the same with a slope: from **y = x · s({beta:g} x)** it takes s back as y / x.",
    lambda beta: (),
)

# GELU in its other form: what is meant where ``approximate`` is left out.


def tanh_by_default(
    cases: Callable[[Any], tuple[Case, ...]], peer: Callable[..., Any], oracle: Callable[..., Any]
) -> Variant:
    """cases: of the exercise, given the form that is left out; peer, oracle: with the tanh form by default."""

    def made(record: Exercise, form: Any) -> Exercise:
        asks = "This class is asked for the tanh form wherever `approximate` is left out."
        floor = record.tolerance.floor
        assert floor is not None
        given = record.parameters.index("approximate")

        def stated(*args: Any) -> Floors:
            return floor(*args[:given], args[given] if len(args) > given else form)

        return in_another_kind(
            record,
            asks,
            summary=f"{record.summary}; approximate is {form!r} by default",
            oracle=oracle,
            cases=cases(form),
            tolerance=replace(record.tolerance, floor=stated),
            peer=peer,
            forward=varied(record.forward, form) if record.forward else None,
        )

    return Variant(
        "gelu_form",
        "'tanh'",
        lambda value: value == "tanh",
        made,
        lambda form: 'GELU is its other form here: where `approximate` is left out, **it is `"tanh"`**.',
        lambda form: (('approximate="none")', 'approximate="tanh")'),),
    )


# Layer norm with a weight around 0: 1 + weight scales x̂, as in TransformerEngine's zero_centered_gamma.


def _zero_centred(record: Exercise, value: Any) -> Exercise:
    """Of forward and backward alike: the published function, and its tolerance, with another weight."""
    at = record.parameters.index("weight")
    floor = record.tolerance.floor
    assert floor is not None

    def oracle(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Any:
        return record.oracle(x, 1 + weight, bias, eps)

    def gradients(dy: Tensor, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor) -> Any:
        return record.oracle(dy, x, 1 + weight, mean, rstd)

    def allowed(*args: Any) -> Floors:
        """x̂ + x̂ · weight is as good as x̂ · (1 + weight), and rounds both terms."""
        return floor(*args[:at], 1 + args[at].abs(), *args[at + 1 :])

    backward = record.forward is not None
    return in_another_kind(
        record,
        "This class is asked for layer norm with 1 + weight in place of weight.",
        summary=record.summary.replace("weight", "(1 + weight)", 1),
        oracle=gradients if backward else oracle,
        tolerance=replace(record.tolerance, floor=allowed),
        forward=_zero_centred(record.forward, value) if record.forward else None,
    )


def _zero_centred_witness(record: Witness, value: Any) -> Witness:
    def bug(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Any:
        return record.bug.function(x, 1 + weight, bias, eps)

    return replace(
        record,
        exercise=_zero_centred(record.exercise, value),
        bug=replace(record.bug, function=bug),
        variant=None,
    )


def zero_centred(made: Callable[[Any, Any], Any], asks: str, stub: tuple[tuple[str, str], ...] = ()) -> Variant:
    return Variant(
        "zero_centred_weight", "True", lambda value: value is True, made, lambda value: asks, lambda value: stub
    )


ZERO_CENTRED = zero_centred(
    _zero_centred,
    "The weight is centred on zero here: **y = x̂ · (1 + weight) + bias**, so that weights of 0 change nothing.",
    (("rstd · weight + bias", "rstd · (1 + weight) + bias"),),
)
ZERO_CENTRED_GRADIENT = zero_centred(
    _zero_centred,
    "Forward is **y = x̂ · (1 + weight) + bias** here, with a weight centred on zero.",
    (("(dx, dweight, dbias)", "(dx, dweight, dbias) of y = x̂ · (1 + weight) + bias"),),
)
ZERO_CENTRED_WITNESS = zero_centred(
    _zero_centred_witness, "Layer norm scales by **1 + weight** here, and so does the bug."
)
