"""The list of pairs, and how one is put on it."""

from collections.abc import Callable
from dataclasses import dataclass

PAIRS: list["Pair"] = []


@dataclass(frozen=True)
class Pair:
    """kind: of the one finding in the wrong program. without: what the Triton at hand lacks, "" where it has all.
    program: called with whether to be wrong.
    """

    kind: str
    without: str
    program: Callable


def pair(kind: str, without: str = "") -> Callable[[Callable], Callable]:
    """Puts a function on the list."""

    def register(program: Callable) -> Callable:
        PAIRS.append(Pair(kind, without, program))
        return program

    return register
