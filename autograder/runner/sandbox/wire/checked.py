"""JSON from a process that is not trusted, read one value at a time. The grader has no other reader for it.

Every function returns a value of the type it is named for, or raises `Malformed`. A declarative schema would not
suffice: what is valid depends on the call (its inputs, its operators, its memory).
"""

import json
import re
import unicodedata
from typing import Any, NoReturn

WireJson = dict[str, Any]
SENTENCE = 2_000  # characters
_NAME = re.compile(r"[A-Za-z_]\w{0,99}")
_PART = re.compile(r"[A-Za-z_]\w{0,99}(\[\d{1,4}\]){0,8}")
_SHOWN = 40  # characters of a value that is quoted


class Malformed(TypeError):
    """A message that the grader's own processes would not have written; says what is wrong with it."""


def loads(raw: bytes | str) -> WireJson:
    """Returns the object that ``raw`` holds."""
    try:
        return fields(json.loads(raw))
    except (ValueError, RecursionError) as error:
        raise Malformed(f"This is not JSON ({type(error).__name__}).") from None


def fields(value: object) -> WireJson:
    """Returns an object."""
    return value if isinstance(value, dict) else _malformed(value, "an object")


def items(value: object) -> list[Any]:
    """Returns a list."""
    return value if isinstance(value, list) else _malformed(value, "a list")


def text(value: object, limit: int = SENTENCE) -> str:
    """Returns text, cleaned, and shortened to about ``limit`` characters."""
    return clean(value, limit) if isinstance(value, str) else _malformed(value, "text")


def name(value: object) -> str:
    """Returns an identifier of up to 100 characters."""
    return value if isinstance(value, str) and _NAME.fullmatch(value) else _malformed(value, "a name")


def part(value: object) -> str:
    """Returns a name, or a place in the tuple of that name, as in ``ins[0]``."""
    return value if isinstance(value, str) and _PART.fullmatch(value) else _malformed(value, "a name")


def count(value: object) -> int:
    """Returns a number of bytes, elements or steps: what fits into 62 bits, so that a few of them can be added."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62:
        return value
    return _malformed(value, "a count")


def number(value: object) -> int | float:
    """Returns a float, or an integer of up to 64 bits."""
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**64):
        return value
    return _malformed(value, "a number")


def clean(value: str, limit: int = SENTENCE) -> str:
    """Returns the text without control characters, direction marks and lone surrogates, except line breaks and tabs;
    shortened in the middle.
    """
    if len(value) <= limit and value.isprintable():
        return value
    kept = "".join(c for c in value[: 4 * limit] if c in "\n\t" or unicodedata.category(c)[0] != "C")
    if len(kept) > limit:
        kept = f"{kept[: limit // 2]}\n... {len(kept) - limit:,} characters left out ...\n{kept[-limit // 2 :]}"
    return kept


def _malformed(value: object, wanted: str) -> NoReturn:
    shown = repr(value[:_SHOWN]) if isinstance(value, str) else f"a {type(value).__name__}"
    raise Malformed(f"There should be {wanted}, and there is {clean(shown)}.")
