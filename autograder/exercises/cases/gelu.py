"""The inputs that show the bugs of an activation in two forms, ``approximate="none"`` and ``"tanh"``."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Generator, Tensor

from ...judge import Case, Category
from ...runner import Args
from .elementwise import ELEMENTWISE, elementwise
from .signature import MakeArguments, as_they_are
from .wording import AGAIN

# Where the forms differ most, where 1 + erf and 1 + tanh run out of digits, where e^2u overflows, and where x³ does.
TURNS = (-41.0, -13.2, -10.0, -6.0, -5.5, -5.0, -3.0, -2.699, -1.0, -0.7518, 0.7518, 1.0, 2.699, 5.5, 10.0, 13.0, 41.0)
TURNING = "turning points"
# What tells one form from the other: how it treats dtypes, layouts and edges does not.
TOLD_BY = {
    *(TURNING, "ordinary values", AGAIN, "one block", "three blocks and a rest", "exact zeros", "tiny values"),
    *("large values", "one element", "no dimensions", "odd shape, several blocks", "tiny dy"),
}


def in_both_forms(parameters: tuple[str, ...], tail: Callable[[str], Tensor]) -> tuple[Case, ...]:
    """Cases of an elementwise function of ``parameters`` and ``approximate``: those of ``"none"``, which leave it out,
    and then those of ``"tanh"``.

    tail: of a form, the float32 values where honest float32 code loses everything and careful code nothing.
    """
    stated = _one_form(parameters, lambda: tail("tanh"), lambda generator, *tensors: (*tensors, "tanh"))
    return (*_one_form(parameters, lambda: tail("none"), as_they_are), *(_named(case, "tanh") for case in stated))


def _one_form(parameters: tuple[str, ...], tail: Callable[[], Tensor], arguments: MakeArguments) -> list[Case]:
    cases = list(elementwise(parameters, "x", tail, arguments=arguments))
    before = next(i for i, case in enumerate(cases) if case.name == "large values")
    cases.insert(before, _turns(parameters, arguments))
    return cases


def _named(case: Case, form: str) -> Case:
    """The case with its form in its name and hint."""
    hint = f'With approximate="{form}". {case.hint}'
    category = Category.POINT if case.name in TOLD_BY else case.category
    return replace(case, name=f"{form}: {case.name}", hint=hint, category=category)


def _turns(parameters: tuple[str, ...], arguments: MakeArguments) -> Case:
    def inputs(generator: Generator) -> Args:
        x = torch.tensor(TURNS).repeat(241)[:4096]
        drawn = (x if p == "x" else torch.linspace(-1.7, 1.3, len(x)) for p in parameters)
        return arguments(generator, *drawn)

    hint = (
        "Where the two forms differ most, where erf and tanh reach ±1, and where e^2u and x³ are large: `went in` says "
        "which."
    )
    return Case(TURNING, inputs, hint, family=ELEMENTWISE, subject="range")
