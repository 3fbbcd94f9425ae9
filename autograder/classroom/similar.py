"""Answers of a class that are nearly one program, and those near the published one: groups for a person to judge, never
a verdict. Names, comments, docstrings, annotations and layout do not count, nor does what was handed out.
"""

import ast
import io
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

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
T = TypeVar("T")
_LAYOUT = {tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True)
class SubmittedProgram:
    """A program, as the first of those who wrote it handed it in, and which share of its tokens is in the first one."""

    students: tuple[str, ...]
    source: str
    share: float


@dataclass(frozen=True)
class Alike:
    """Similar programs for one answer: the published one first, or that of most students."""

    answer: str
    programs: tuple[SubmittedProgram, ...]
    published: bool

    @property
    def students(self) -> set[str]:
        """Returns who wrote them."""
        return {student for program in self.programs for student in program.students}


@dataclass(frozen=True)
class SimilarGroup:
    """Students with similar answers. counts: in how many answers each is; of: how many answers two of them have, or one
    where these are near the published ones.
    """

    counts: tuple[tuple[str, int], ...]
    of: int
    alike: tuple[Alike, ...]
    published: bool


def groups(
    answers: Mapping[str, Mapping[str, str]], released: Mapping[str, str], published: Mapping[str, str]
) -> list[SimilarGroup]:
    """First those who are near the published answers, then the groups with most students.

    answers: for each answer's name the source that each student handed in; released, published: what was handed out,
    and the course's own.
    """
    alike = [
        programs
        for name, sources in answers.items()
        for programs in alike_in(name, sources, released.get(name, ""), published.get(name, ""))
    ]
    ours, others = (
        [programs for programs in alike if programs.published],
        [programs for programs in alike if not programs.published],
    )
    together = _joined([other.students for other in others])
    parts = [(students, [other for other in others if other.students <= students]) for students in together]
    result = [_group(answers, students, mine, 2) for students, mine in parts]
    result.sort(key=lambda group: (-len(group.counts), -len(group.alike), group.counts))
    if ours:
        result.insert(0, _group(answers, set().union(*(programs.students for programs in ours)), ours, 1))
    return result


def _group(
    answers: Mapping[str, Mapping[str, str]], students: set[str], alike: Sequence[Alike], least: int
) -> SimilarGroup:
    counts = Counter(student for programs in alike for student in programs.students)
    of = sum(len(students & sources.keys()) >= least for sources in answers.values())
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return SimilarGroup(tuple(ordered), of, tuple(alike), alike[0].published)


def alike_in(answer: str, sources: Mapping[str, str], released: str, published: str) -> list[Alike]:
    """The programs for one answer that are similar, directly or by way of others."""
    stub = frozenset(lines(released))
    who: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for student, source in sorted(sources.items()):
        if len(text := tokens(source, stub)) >= SHORT:
            who[text].append(student)
    ours = tokens(published, stub)
    texts = sorted(who, key=lambda text: -len(who[text]))
    every = [ours, *(text for text in texts if text != ours)] if len(ours) >= SHORT else texts
    shares: Any = cdist(every, every, scorer=Indel.normalized_similarity) if every else []
    close = [{i, j} for i in range(len(every)) for j in range(i, len(every)) if shares[i][j] >= LEAST]
    alike = []
    for numbers in map(sorted, _joined(close)):
        first = numbers[0]
        is_published = first == 0 and every is not texts
        programs = [
            SubmittedProgram(tuple(who[every[i]]), sources[who[every[i]][0]], float(shares[first][i]))
            for i in numbers
            if who.get(every[i])
        ]
        programs.sort(key=lambda group: (-group.share, -len(group.students), group.students))
        if is_published and programs:
            programs.insert(0, SubmittedProgram((), published, 1.0))
        if is_published or sum(len(program.students) for program in programs) > 1:
            alike += [Alike(answer, tuple(programs), is_published)] if programs else []
    return alike


def _joined(parts: Iterable[set[T]]) -> list[set[T]]:
    """The sets, those with a common member made one."""
    joined: list[set[T]] = []
    for part in parts:
        apart = [group for group in joined if group.isdisjoint(part)]
        joined = [*apart, part.union(*(group for group in joined if not group.isdisjoint(part)))]
    return joined


TokenLine = tuple[str, ...]  # the tokens of one


def tokens(source: str, released: frozenset[TokenLine] = frozenset()) -> tuple[str, ...]:
    """The program's tokens, without the lines that were ``released``; () where it is not Python."""
    return tuple(token for line in lines(source) if line not in released for token in line)


def lines(source: str) -> list[TokenLine]:
    """The program line by line, without comments, docstrings and annotations; its own names are all one."""
    try:
        code, _ = plain_python(source)
        if not is_python(code):
            return []
        tree = _plain(ast.parse(code))
        bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        bound |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        text = ast.unparse(tree)
        plain = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except Exception:  # thousands of terms, a text that Python cannot write again: an answer may be anything
        return []
    program: list[list[str]] = [[]]
    for token in plain:
        if token.type == tokenize.NEWLINE:
            program.append([])
        elif token.type not in _LAYOUT:
            program[-1].append("name" if token.string in bound else token.string)
    return [tuple(line) for line in program if line]


def _plain(tree: ast.Module) -> ast.Module:
    """The program without docstrings and annotations."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            node.body = [statement for statement in node.body if not _is_text(statement)] or [ast.Pass()]
    return tree


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def in_class(courses: CourseDirectory, assignment: str, students: list[str]) -> list[SimilarGroup]:
    """The groups of students with similar answers among the graded notebooks of an assignment."""

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
    return groups(answers, released, published)


def without_marks(source: str) -> str:
    """A published answer without nbgrader's lines around what learners do not get."""
    return "\n".join(line for line in source.split("\n") if line.strip() not in (BEGIN, END))


def _answers(path: Path) -> dict[str, str]:
    """The answers in code of a notebook, by grade id."""
    cells = nbformat.read(path, as_version=4).cells
    return {grade_id(cell): cell.source for cell in cells if is_answer(cell) and cell.cell_type == "code"}
