"""A case whose arguments are named: ``case("a row of -inf", hint, logits=draw.normal(5, 40).put(-inf, 2))``."""

import inspect
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..category import Category
from ..record import Case, Convention, Subject
from .arguments import Arguments


def case(
    name: str,
    hint: str,
    arguments: Arguments = Arguments(),  # noqa: B008, which is frozen
    /,
    *,
    bonus: bool = False,
    convention: Convention = "",
    category: Category | None = None,
    subject: Subject | None = None,
    each_row_alone: bool = False,
    **more: Any,
) -> Case:
    """A case of an exercise whose signature has these arguments, those in ``more`` after the others: `draw`, tensors
    and numbers. Other fields than these a `dataclasses.replace` sets. A record hands it over in ``cases``.
    """
    frame = inspect.currentframe()
    caller = frame.f_back if frame else None
    place = f"{caller.f_code.co_filename}:{caller.f_lineno}: " if caller else ""
    inputs = replace(arguments.but(**more), place=f"{place}case {name!r}: ")
    return Case(
        name,
        inputs,
        hint,
        bonus=bonus,
        convention=convention,
        category=category,
        subject=subject,
        each_row_alone=each_row_alone,
    )


def also(cases: Iterable[Case], **more: Any) -> tuple[Case, ...]:
    """The same cases with these arguments, drawn after the others, as a gradient has its upstream one beside what its
    forward pass takes.
    """
    changed = []
    for each in cases:
        if not isinstance(each.inputs, Arguments):
            raise TypeError(f"case {each.name!r} does not name its arguments: write it as case(name, hint, x=...)")
        changed.append(replace(each, inputs=each.inputs.but(**more)))
    return tuple(changed)
