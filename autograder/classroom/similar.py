"""Answers of a class that are nearly one program, and those near the published one: pairs for a person to judge, never
a verdict. Names, comments, docstrings, annotations and layout do not count, nor does what was handed out.
"""

import ast
import io
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.coursedir import CourseDirectory
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from ..words import is_python
from .nbgrader.notebook_code import plain_python
from .nbgrader.rebuild import grade_id, is_answer
from .nbgrader.solution_marks import BEGIN, END

LEAST = 0.9  # of the tokens, to be shown
SHORT = 60  # tokens; of a shorter answer the course's text leaves few ways to write it
MOST = 100  # pairs on a page
COURSE = "the published answer"
_LAYOUT = {tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class Pair:
    """Two answers: whose, as they were handed in, and which share of their tokens is the same, in order."""

    answer: str
    one: str
    other: str
    share: float
    sources: tuple[str, str]


@dataclass(frozen=True)
class Two:
    """Two students, or one and the published answers, with their similar answers. both: how many both have."""

    one: str
    other: str
    both: int
    pairs: tuple[Pair, ...]


def twos(
    answers: Mapping[str, Mapping[str, str]], released: Mapping[str, str], published: Mapping[str, str]
) -> list[Two]:
    """Those with the most similar answers first, those with the published answers after all others: a run's summary
    names these already. The arguments are those of `pairs`.
    """
    found: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in pairs(answers, released, published):
        found[min(pair.one, pair.other), max(pair.one, pair.other)].append(pair)

    def of(alike: list[Pair]) -> Two:
        one, other = alike[0].one, alike[0].other
        both = sum(one in sources and (other in sources or other == COURSE) for sources in answers.values())
        return Two(one, other, both, tuple(alike))

    return sorted(map(of, found.values()), key=lambda two: (two.other == COURSE, -len(two.pairs), two.one, two.other))


def pairs(
    answers: Mapping[str, Mapping[str, str]], released: Mapping[str, str], published: Mapping[str, str]
) -> list[Pair]:
    """The closest first.

    answers: for each answer's name the source that each student handed in; released, published: what was handed out,
    and the course's own. Students who are both near the published answer are not a pair of their own.
    """
    found: list[Pair] = []
    for name, sources in answers.items():
        stub = frozenset(lines(released.get(name, "")))
        texts = {student: tokens(source, stub) for student, source in sources.items()}
        alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for student, text in texts.items():
            if len(text) >= SHORT:
                alike[text].append(student)
        ours = tokens(published.get(name, ""), stub)
        near = {text: Indel.normalized_similarity(text, ours) for text in alike} if len(ours) >= SHORT else {}
        for text, share in near.items():
            if share >= LEAST:
                found += [Pair(name, one, COURSE, share, (sources[one], published[name])) for one in alike[text]]
        for one, other, share in _close(alike, {text for text, share in near.items() if share >= LEAST}):
            found.append(Pair(name, one, other, share, (sources[one], sources[other])))
    return sorted(found, key=lambda pair: (-pair.share, pair.answer, pair.one, pair.other))


def _close(alike: Mapping[tuple[str, ...], list[str]], known: set[tuple[str, ...]]) -> Iterator[tuple[str, str, float]]:
    """Pairs of students whose texts are close, but for two that are both ``known``."""
    texts = list(alike)
    for text in texts:
        if text not in known:
            yield from ((one, other, 1.0) for one, other in combinations(alike[text], 2))
    shares: Any = cdist(texts, texts, scorer=Indel.normalized_similarity, score_cutoff=LEAST) if texts else []
    for i, j in combinations(range(len(texts)), 2):
        if shares[i][j] >= LEAST and not (texts[i] in known and texts[j] in known):
            yield from ((*pair, float(shares[i][j])) for pair in product(alike[texts[i]], alike[texts[j]]))


Line = tuple[str, ...]  # the tokens of one


def tokens(source: str, released: frozenset[Line] = frozenset()) -> tuple[str, ...]:
    """The program's tokens, without the lines that were ``released``; () where it is not Python."""
    return tuple(token for line in lines(source) if line not in released for token in line)


def lines(source: str) -> list[Line]:
    """The program line by line, without comments, docstrings and annotations; its own names are all one."""
    try:
        code, _ = plain_python(source)
        if not is_python(code):
            return []
        tree = _plain(ast.parse(code))
        own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        text = ast.unparse(tree)
        plain = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except Exception:  # thousands of terms, a text that Python cannot write again: an answer may be anything
        return []
    found: list[list[str]] = [[]]
    for token in plain:
        if token.type == tokenize.NEWLINE:
            found.append([])
        elif token.type not in _LAYOUT:
            found[-1].append("name" if token.string in own else token.string)
    return [tuple(line) for line in found if line]


def _plain(tree: ast.Module) -> ast.Module:
    """The program without docstrings and annotations."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            node.body = [one for one in node.body if not _is_text(one)] or [ast.Pass()]
    return tree


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def in_class(courses: CourseDirectory, assignment: str, students: list[str]) -> list[Two]:
    """The students with similar answers among the graded notebooks of an assignment."""

    def cells(step: str, student: str) -> dict[str, str]:
        folder = Path(courses.root, courses.format_path(getattr(courses, f"{step}_directory"), student, assignment))
        return {name: source for path in sorted(folder.glob("*.ipynb")) for name, source in _answers(path).items()}

    released = cells("release", ".")
    published = {name: without_marks(source) for name, source in cells("source", ".").items()}
    answers: dict[str, dict[str, str]] = defaultdict(dict)
    for student in students:
        for name, source in cells("autograded", student).items():
            if source.strip() != released.get(name, "").strip():
                answers[name][student] = source
    return twos(answers, released, published)


def without_marks(source: str) -> str:
    """A published answer without nbgrader's lines around what learners do not get."""
    return "\n".join(line for line in source.split("\n") if line.strip() not in (BEGIN, END))


def _answers(path: Path) -> dict[str, str]:
    """The answers in code of a notebook, by grade id."""
    cells = nbformat.read(path, as_version=4).cells
    return {grade_id(cell): cell.source for cell in cells if is_answer(cell) and cell.cell_type == "code"}
