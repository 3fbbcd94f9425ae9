"""The three questions about an answer. A report keeps apart what is wrong, what is right on today's backends but not
guaranteed anywhere, and what is right but wasteful.
"""

from collections.abc import Iterable
from enum import StrEnum


class Quality(StrEnum):
    """The quality that a failing case shows an answer to lack.

    CORRECT: values, shapes, dtypes, no access out of bounds, no race, nothing left unwritten, inputs left alone, no
        state kept between calls; some GPU that is asked for compiles it.
    PORTABLE: no result that depends on a masked-off lane without ``other``, or by more than the tolerance on the order
        of programs (bits may differ, as those of a sum by atomics do); every GPU that is asked for compiles it.
    EFFICIENT: bytes moved, memory held.
    """

    CORRECT = "correct"
    PORTABLE = "portable"
    EFFICIENT = "efficient"


def qualities(names: Iterable[str]) -> tuple[Quality, ...]:
    """The qualities of these names, each once, in the order of `Quality`. Raises ValueError for any other name."""
    names = [names] if isinstance(names, str) else list(names)
    known = [quality.value for quality in Quality]
    unknown = [str(name) for name in names if name not in known]
    if unknown or not names:
        raise ValueError(f"{unknown[0] if unknown else 'nothing'!r} cannot be required; name {', '.join(known)}")
    return tuple(quality for quality in Quality if quality.value in names)


def both(one: bool | None, other: bool | None) -> bool | None:
    """Whether two judgements together hold; None where neither was made."""
    made = [judgement for judgement in (one, other) if judgement is not None]
    return all(made) if made else None
