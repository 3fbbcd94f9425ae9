"""The three questions about an answer. A report keeps apart what is wrong, what is right on today's backends but not
guaranteed anywhere, and what is right but wasteful.
"""

import argparse
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

    @classmethod
    def named(cls, names: Iterable[str]) -> "tuple[Quality, ...]":
        """The qualities of these names, each once, in the order above. Raises ValueError for any other name."""
        names = [names] if isinstance(names, str) else list(names)
        known = [quality.value for quality in cls]
        unknown = [str(name) for name in names if name not in known]
        if unknown or not names:
            raise ValueError(f"{unknown[0] if unknown else 'nothing'!r} cannot be required; name {', '.join(known)}")
        return tuple(quality for quality in cls if quality.value in names)

    @classmethod
    def read(cls, text: str) -> "list[Quality]":
        """The qualities of an option, ``correct,portable``. Raises ArgumentTypeError for a name that is not one."""
        try:
            return list(cls.named(text.split(",")))
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
