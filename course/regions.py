"""Answers, cut out of the answer files and made ready for a notebook.

An answer file (``solutions/*.py``, ``kernels/*.py``) is divided by lines of the form ``# %% silu_backward``: each
starts a region that runs to the next such line or to the end of the file. `hide_bodies` marks what learners do not see.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..autograder.classroom.nbgrader.solution_marks import BEGIN, END

BACKENDS = {"solutions": "torch", "kernels": "triton"}
HEADER = re.compile(r"^# %% (\w+)\s*$")
MOST_PARAMETERS = 10  # of a kernel that a learner is shown the signature of: more belong to a plan of ours


@dataclass(frozen=True)
class Region:
    """One named piece of an answer file. ``line`` is the number of its ``# %%`` line."""

    name: str
    folder: str
    path: Path
    line: int
    source: str

    @property
    def backend(self) -> str:
        """``torch`` or ``triton``, by the region's folder."""
        return BACKENDS[self.folder]


def find_regions(root: Path) -> dict[tuple[str, str], Region]:
    """Every region below ``root``, by folder and name. Raises ValueError where one folder names a region twice."""
    regions: dict[tuple[str, str], Region] = {}
    for folder in BACKENDS:
        for path in sorted((root / folder).glob("*.py")):
            for region in _split(path, folder):
                key = (folder, region.name)
                if key in regions:
                    first = regions[key]
                    raise ValueError(
                        f"{path}:{region.line}: region {region.name} already starts at {first.path}:{first.line}; "
                        "rename one of them"
                    )
                regions[key] = region
    return regions


def _split(path: Path, folder: str) -> list[Region]:
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [(number, match[1]) for number, line in enumerate(lines) if (match := HEADER.match(line))]
    bounds = [number for number, _ in starts] + [len(lines)]
    return [
        Region(name, folder, path, start + 1, "\n".join(lines[start + 1 : end]).strip("\n"))
        for (start, name), end in zip(starts, bounds[1:], strict=True)
    ]


def hide_bodies(region: Region) -> str:
    """The region's source with nbgrader's solution markers around what a learner has to write.

    Functions whose name begins with the region's keep decorators, signature, docstring and the comments directly under
    them. Other functions are helpers of this answer and hidden whole: the learner may find better ones, or need none.
    So are all kernels of an answer of which one takes more than `MOST_PARAMETERS`.
    Raises ValueError where there is no such function, or one without a body to hide.
    """
    lines = region.source.split("\n")
    spans: list[tuple[int, int, str]] = []
    asked = False
    functions = list(_functions(ast.parse(region.source).body))
    simple = all(len(function.args.args) <= MOST_PARAMETERS for function in functions)
    for function in functions:
        if function.name.startswith(region.name) and (simple or not function.decorator_list):
            asked = True
            spans.append(_body(function, lines, region))
        else:
            _add_helper(spans, function, lines)
    if not asked:
        raise ValueError(f"{region.path}:{region.line}: region {region.name} defines no function of that name")
    for first, last, indent in reversed(spans):
        lines[first:last] = [indent + BEGIN, *lines[first:last], indent + END]
    return "\n".join(lines)


def visible(region: Region) -> str:
    """Returns what a learner sees of it: a line of dots for each passage that is hidden."""
    return re.sub(rf"( *){BEGIN}.*?{END}", r"\1...", hide_bodies(region), flags=re.DOTALL)


def _functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """Yields the functions of the module and the methods of its classes, in order. A function inside a function is part
    of a body.
    """
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body)


def _add_helper(spans: list[tuple[int, int, str]], helper: ast.FunctionDef, lines: list[str]) -> None:
    """Hides a whole function, in one span with the helper before it: one line of stub is room enough for all."""
    first = min([helper.lineno, *(decorator.lineno for decorator in helper.decorator_list)]) - 1
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    if spans and not any(line.strip() for line in lines[spans[-1][1] : first]) and not spans[-1][2]:
        first = spans.pop()[0]
    spans.append((first, _end(helper), " " * helper.col_offset))


def _end(statement: ast.stmt) -> int:
    """The number of its last line, which a tree that was parsed always has."""
    return statement.end_lineno or statement.lineno


def _body(function: ast.FunctionDef, lines: list[str], region: Region) -> tuple[int, int, str]:
    """First and one-past-last index of the lines of a body, and their indent."""
    statements = function.body[1:] if ast.get_docstring(function) is not None else function.body
    where = f"{region.path}:{region.line + function.lineno}: {function.name}"
    if not statements:
        raise ValueError(f"{where} has a docstring and no body")
    first = statements[0].lineno - 1
    if first == function.lineno - 1:
        raise ValueError(f"{where} has its body on the line of its signature; put it on a line of its own")
    if statements is function.body:
        top = first
        while _is_comment_or_blank(lines[top - 1]):
            top -= 1
    else:
        top = _end(function.body[0])
    while lines[top].lstrip().startswith("#"):
        top += 1
    while not lines[top].strip():
        top += 1
    last = _end(statements[-1])
    while last < len(lines) and re.match(rf"\s{{{statements[-1].col_offset},}}#", lines[last]):
        last += 1
    return top, last, " " * function.body[-1].col_offset


def _is_comment_or_blank(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")
