"""How a candidate computes: in kernels of its own, with PyTorch's operators, or by calling those of the reference."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["kernels", "partly", "operators", "no", "unknown"]
_SHOWN = 3  # operators named in a sentence


@dataclass(frozen=True)
class Method:
    """kind: ``kernels``, all of it in kernels that it launches; ``partly``, some of it; ``operators``, none of it, but
    with other operators of PyTorch than the reference; ``no``, it calls the reference's own; ``unknown``, it could not
    be found out. why: the same in a few words, for a person.
    """

    kind: Kind
    why: str

    def __str__(self) -> str:
        return self.why


def method_of(theirs: Iterable[str], mine: Iterable[str], launches: bool, composite: str = "") -> Method:
    """theirs: the operators that the reference computes with. mine: those that the candidate computes with outside its
    kernels; where it was tried which ones it cannot do without, only those. launches: whether kernels of its own
    contribute. composite: an operator that it needs and that does more than one step, if there is one.
    """
    theirs, mine = set(theirs), list(mine)
    calls = "it calls " + named(sorted(mine, key=lambda name: name not in theirs))
    if theirs and theirs <= set(mine):
        return Method("no", f"no, {calls}")
    if launches:
        return Method("partly", f"in its own kernels, but {calls}") if mine else Method("kernels", "in its own kernels")
    if any(name in theirs for name in mine):
        return Method("partly", f"no kernel; {calls}")
    if composite:
        return Method("no", f"no, it calls aten.{composite}, which does more than one step")
    return Method("operators", f"no kernel; {calls}" if mine else "no kernel; with basic operators of PyTorch")


def named(operators: Iterable[str]) -> str:
    """``aten.silu, aten.mul``."""
    every = [f"aten.{name}" for name in operators]
    return ", ".join(every[:_SHOWN]) + (" and others" if len(every) > _SHOWN else "")
