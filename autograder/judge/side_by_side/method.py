"""A candidate's method: in kernels of its own, with PyTorch's operators, or by calling those of the reference."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ...gpu import ATEN

MethodKind = Literal["kernels", "partly", "operators", "no", "unknown"]
KINDS: tuple[MethodKind, ...] = ("kernels", "partly", "operators", "unknown", "no")  # from the best to the worst
COMPUTES = KINDS[:3]  # those that pass where nobody says otherwise
ANY_NUMBER = math.inf
SHARE = 0.5  # of the elements: the sum of a kernel's partial sums is a step of computing, and no call of the answer
COMPOSITE = "operators that do more than one step"
# What PyTorch's formulas for derivatives of basic operators are made of.
IN_DERIVATIVES = ATEN.pointwise & ATEN.permitted
IN_DERIVATIVES |= frozenset("sum mm bmm mv addmm baddbmm cumsum scatter scatter_add index_add index_put".split())
_SHOWN = 3  # operators named in a sentence


@dataclass(frozen=True)
class Method:
    """kind: ``kernels``, all of it in kernels that it launches; ``partly``, some of it; ``operators``, none of it, but
    with other operators of PyTorch than the reference; ``no``, it calls the reference's own, on as many elements;
    ``unknown``, it could not be found out. why: the same in a few words, for a person.
    """

    kind: MethodKind
    why: str

    def __str__(self) -> str:
        return self.why


def worst(methods: Iterable[Method]) -> Method:
    """The one that counts where a candidate computes in several ways."""
    return max(methods, key=lambda method: KINDS.index(method.kind))


def method_of(
    theirs: Mapping[str, int], mine: Mapping[str, float], launches: bool, composite: str | None = None
) -> Method:
    """theirs: the operators that the reference computes with, and how many elements they are given (`OperatorNotes`).
    mine: those that the candidate computes with outside its kernels; where it was tried which ones it cannot do
    without, only those, of `ANY_NUMBER` of elements. launches: whether kernels of its own contribute. composite: an
    operator that it needs and that does more than one step, "" where it is not known which.
    """
    calls = "it calls " + named(sorted(mine, key=lambda name: name not in theirs))
    if theirs and all(mine.get(name, -1) >= elements * SHARE for name, elements in theirs.items()):
        return Method("no", f"no, {calls}")
    if launches:
        return Method("partly", f"in its own kernels, but {calls}") if mine else Method("kernels", "in its own kernels")
    if any(name in theirs for name in mine):
        return Method("partly", f"no kernel; {calls}")
    if composite:
        return Method("no", f"no, it calls aten.{composite}, which does more than one step")
    if composite is not None:
        return Method("no", f"no, it does not run without {COMPOSITE}")
    return Method("operators", f"no kernel; {calls}" if mine else "no kernel; with basic operators of PyTorch")


def in_derivative(theirs: Mapping[str, int], mine: Mapping[str, int]) -> Method:
    """Returns how a candidate computes that does all but its derivative in kernels. theirs, mine: the operators that
    the two derivatives call. Arithmetic is in every derivative, and calls no answer.
    """
    calls = "its derivative calls " + named(sorted(mine, key=lambda name: name not in theirs))
    answers = {name: elements for name, elements in theirs.items() if name not in IN_DERIVATIVES}
    if answers and all(mine.get(name, -1) >= elements * SHARE for name, elements in answers.items()):
        return Method("no", f"no, {calls}")
    return Method("partly", f"in its own kernels, but {calls}")


def named(operators: Iterable[str]) -> str:
    """``aten.silu, aten.mul, mine::silu``."""
    every = [name if "::" in name else f"aten.{name}" for name in operators]
    return ", ".join(every[:_SHOWN]) + (" and others" if len(every) > _SHOWN else "")
