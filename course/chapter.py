"""Says what a chapter's text asks for: its directives, found, checked, and located by line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

EXERCISE = re.compile(r"^\{exercise\}`(solutions|kernels)/(\w+)`( optional)?\s*$")
QUESTION = re.compile(r"^```\{question\} ([A-Za-z0-9_]+)\s*$")
POINTS = re.compile(r"^:points: ([1-9]\d*)\s*$")
STEP = ":step:"
FENCE = re.compile(r"^(`{3,}|~{3,})")
Lines = Iterator[tuple[int, str]]  # those that are left, with their numbers


class ChapterError(Exception):
    """A mistake in a chapter or an answer; the message begins with file and line."""


@dataclass(frozen=True)
class Exercise:
    """The line ``{exercise}`solutions/silu_backward` ``, and the hint that follows it as ``:step: ...``. optional:
    whether the line ends in that word: the answer is worth no points and nobody waits for it.
    """

    folder: str
    name: str
    line: int
    step: str = ""
    optional: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """Folder and name, by which the answer's region is found."""
        return (self.folder, self.name)


@dataclass(frozen=True)
class Question:
    """A fenced ``{question}`` block: a name, points, and the marking guide."""

    name: str
    points: int
    guide: str
    line: int

    @property
    def key(self) -> str:
        """The question's name, which a chapter may use once."""
        return self.name


def parse(path: Path, text: str) -> list[str | Exercise | Question]:
    """Plain text and directives, in order. Raises `ChapterError` for a directive that is malformed or used twice."""
    pieces: list[str | Exercise | Question] = []
    plain: list[str] = []
    seen: dict[str | tuple[str, str], int] = {}
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        where = f"{path}:{number}"
        directive: Exercise | Question
        if line.startswith("{exercise}"):
            directive = _exercise(where, line, number)
        elif line.startswith("```{question}"):
            directive = _question(where, line, number, lines)
        elif line.startswith(STEP):
            last = pieces[-1] if pieces and not plain else None
            if not isinstance(last, Exercise) or last.step:
                raise ChapterError(f"{where}: {STEP} follows an {{exercise}} line, once")
            pieces[-1] = replace(last, step=_paragraph(line.removeprefix(STEP), lines))
            continue
        else:
            plain.append(line)
            if fence := FENCE.match(line):
                plain += _until(fence[1], where, lines)
            continue
        if directive.key in seen:
            raise ChapterError(f"{where}: `{directive.name}` is already used in line {seen[directive.key]}")
        seen[directive.key] = number
        pieces += ["\n".join(plain), directive]
        plain = []
    return [piece for piece in [*pieces, "\n".join(plain)] if not isinstance(piece, str) or piece.strip()]


def _exercise(where: str, line: str, number: int) -> Exercise:
    match = EXERCISE.match(line)
    if match is None:
        raise ChapterError(f"{where}: write {{exercise}}`solutions/NAME` or {{exercise}}`kernels/NAME` on a line alone")
    return Exercise(match[1], match[2], number, optional=bool(match[3]))


def _question(where: str, line: str, number: int, lines: Lines) -> Question:
    name = QUESTION.match(line)
    body = _until("```", where, lines)[:-1]
    points = POINTS.match(body[0]) if body else None
    guide = "\n".join(body[1:]).strip()
    if name is None or points is None or not guide:
        raise ChapterError(f"{where}: a question is ```{{question}} NAME, :points: N, the marking guide, and ```")
    return Question(name[1], int(points[1]), guide, number)


def _paragraph(first: str, lines: Lines) -> str:
    """``first`` and the lines up to the next empty one, as one line of text."""
    taken = [first.strip()]
    for _, line in lines:
        if not line.strip():
            break
        taken.append(line.strip())
    return " ".join(taken)


def _until(fence: str, where: str, lines: Lines) -> list[str]:
    """The lines up to and with the one that closes ``fence``."""
    taken = []
    for _, line in lines:
        taken.append(line)
        if line.rstrip() == fence:
            return taken
    raise ChapterError(f"{where}: the block that opens here is never closed")
