"""The inputs that show the bugs of an activation in two forms, ``approximate="none"`` and ``"tanh"``."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Generator, Tensor

from ...run.contract import Args
from ..record import Case
from .elementwise import elementwise

# Where the forms differ most, where 1 + erf and 1 + tanh run out of digits, where e^2u overflows, and where x³ does.
TURNS = (-41.0, -13.2, -10.0, -6.0, -5.5, -5.0, -3.0, -2.699, -1.0, -0.7518, 0.7518, 1.0, 2.699, 5.5, 10.0, 13.0, 41.0)


def in_both_forms(parameters: tuple[str, ...], tail: Callable[[str], Tensor]) -> tuple[Case, ...]:
    """The cases of an elementwise function of ``parameters`` and ``approximate``, which is left out where it is "none".

    tail: of a form, the float32 values where honest float32 code loses everything and careful code nothing.
    """
    return (*_one_form(parameters, "none", tail), *_one_form(parameters, "tanh", tail))


def _one_form(parameters: tuple[str, ...], approximate: str, tail: Callable[[str], Tensor]) -> list[Case]:
    cases = list(elementwise(parameters, "x", lambda: tail(approximate)))
    before = next(i for i, case in enumerate(cases) if case.name == "large values")
    cases.insert(before, _turns(parameters))
    return cases if approximate == "none" else [_in_tanh_form(case) for case in cases]


def _in_tanh_form(case: Case) -> Case:
    hint = f'With approximate="tanh". {case.hint}'
    return replace(
        case, name=f"tanh: {case.name}", inputs=lambda generator: (*case.inputs(generator), "tanh"), hint=hint
    )


def _turns(parameters: tuple[str, ...]) -> Case:
    def inputs(generator: Generator) -> Args:
        x = torch.tensor(TURNS)
        return tuple(x if p == "x" else torch.linspace(-1.7, 1.3, len(TURNS)) for p in parameters)

    return Case(
        "turning points",
        inputs,
        "Where the two forms differ most, where erf and tanh reach ±1, and where e^2u and x³ are large: `went "
        "in` says which.",
    )
