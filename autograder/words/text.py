"""Text: how many there are of something; from elsewhere, as it may be shown, and whether it is Python."""

import ast
import functools
import warnings


def count(number: int, noun: str) -> str:
    """``1 launch``, ``2,000 launches``."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def visible(text: str) -> str:
    """``text`` with its control characters spelled out: none may move the cursor, recolour the screen, reverse the line
    or break the XML of a report.
    """
    text = text.expandtabs(4)
    return "".join(ch if ch.isprintable() or ch == "\n" else ch.encode("unicode_escape").decode() for ch in text)


@functools.lru_cache(maxsize=1024)  # in a notebook all cells so far are asked about at every launch
def is_python(source: str) -> bool:
    """Returns whether ``source`` can be parsed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an invalid escape in a learner's string
        try:
            ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
