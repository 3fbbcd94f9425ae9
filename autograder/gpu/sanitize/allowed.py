"""Comments that allow a finding: ``# graded-kernels: allow out-of-bounds: the caller pads x``.

One stands behind the line, anywhere in a statement of several lines, or alone above it. It allows one kind of finding,
and says why.
"""

import functools
import re
import tokenize
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..rules import RULES
from .location import location
from .reached import FunctionLines

_COMMENT = re.compile(r"#\s*graded-kernels:\s*allow\b\s*(?P<kind>[\w-]*)\s*(:\s*(?P<reason>.*\S))?")
_NO_STATEMENT = {tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


class Allowance(NamedTuple):
    """A comment at ``line`` of ``file``, about the statement of the lines ``first`` to ``last``. mistake: why it allows
    nothing, "" where it does.
    """

    file: str
    line: int
    first: int
    last: int
    kind: str
    reason: str
    mistake: str

    def __str__(self) -> str:
        return location({"file": self.file, "line": self.line})


class Allowances:
    """The comments that were asked for. used: those that a finding needed."""

    def __init__(self) -> None:
        self.used: set[Allowance] = set()

    def reason(self, finding: dict[str, Any]) -> str:
        """Why a finding is allowed, "" where it is not."""
        for comment in of_file(finding["file"]):
            if comment.kind == finding["kind"] and comment.first <= finding["line"] <= comment.last:
                self.used.add(comment)
                if comment.reason:
                    return comment.reason
        return ""

    def remarks(self, functions: Iterable[FunctionLines]) -> list[str]:
        """Sentences on comments without a reason, and on those at lines that ran and that no finding needs."""
        ran = {(function["file"], line) for function in functions for line, reached in function["lines"] if reached}
        comments = {comment for file, _ in ran for comment in of_file(file)} | self.used
        said = []
        for mark in sorted(comments):
            if mark.mistake:
                said.append(f"{mark}: the comment allows nothing: {mark.mistake}.")
            elif mark not in self.used and (mark.file, mark.first) in ran:
                said.append(f"{mark}: no finding needs the comment that allows {mark.kind}; take it out.")
        return said


@functools.cache
def of_file(file: str) -> tuple[Allowance, ...]:
    """The comments in a file that allow findings; none where it cannot be read as Python."""
    try:
        with tokenize.open(file) as lines:
            return tuple(_read(file, tokenize.generate_tokens(lines.readline)))
    except (OSError, SyntaxError, ValueError, tokenize.TokenError):
        return ()


def _read(file: str, tokens: Iterator[tokenize.TokenInfo]) -> Iterator[Allowance]:
    first, waiting = 0, []
    for token in tokens:
        if token.type == tokenize.COMMENT and (match := _COMMENT.match(token.string)):
            waiting.append((token.start[0], match["kind"], match["reason"] or ""))
        elif token.type not in _NO_STATEMENT and not first:
            first = token.start[0]
        if token.type == tokenize.NEWLINE:
            for line, kind, reason in waiting:
                yield Allowance(file, line, first, token.start[0], kind, reason, _mistake(kind, reason))
            first, waiting = 0, []


def _mistake(kind: str, reason: str) -> str:
    if kind not in RULES:
        return f"there is no finding {kind!r}; there are {', '.join(RULES)}"
    return "" if reason else f"give a reason, as in `# graded-kernels: allow {kind}: the reason`"
