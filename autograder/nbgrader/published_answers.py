"""Whether an answer is the one that the course itself publishes: a mark for the teacher, never by itself a verdict."""

import ast
import functools
from pathlib import Path

import nbformat

from ..run.answer import is_python
from .notebook_code import plain_python
from .rebuild import grade_id, is_answer

_NAMED = {ast.Name: "id", ast.arg: "arg", ast.keyword: "arg", ast.FunctionDef: "name"}
SHORT = 6  # statements; of a shorter answer the course's text leaves only one way to write it


@functools.lru_cache(maxsize=8)
def published_answers(path: Path, changed: int) -> dict[str, str]:
    """The course's own answers in a notebook, by grade id, read once unless it has ``changed``."""
    cells = nbformat.read(path, as_version=4).cells
    return {grade_id(cell): cell.source for cell in cells if is_answer(cell) and cell.cell_type == "code"}


def is_published(source: str, published: str) -> bool:
    """Whether two answers are one program but for names, comments, docstrings and layout, and not a short one."""
    code, _ = plain_python(source)
    try:
        ours = _course_own(published)
        return bool(ours) and is_python(code) and _canonical(ast.parse(code)) == ours
    except RecursionError:  # an expression of thousands of terms, as the course publishes none
        return False


@functools.lru_cache(maxsize=64)
def _course_own(published: str) -> str:
    """A published answer as `_canonical` has it, once for a class; "" where it is short."""
    if not is_python(published):
        return ""
    tree = ast.parse(published)
    return _canonical(tree) if _statements(tree) >= SHORT else ""


def _statements(tree: ast.Module) -> int:
    return sum(isinstance(node, ast.stmt) and not _is_text(node) for node in ast.walk(tree))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _canonical(tree: ast.Module) -> str:
    """The program with its own names numbered in the order in which they first occur, without annotations."""
    nodes = list(ast.walk(tree))
    own = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    numbers: dict[str, str] = {}

    def number(name: str | None) -> str | None:
        return numbers.setdefault(name, f"name{len(numbers)}") if name in own else name

    for node in nodes:
        if field := _NAMED.get(type(node)):
            setattr(node, field, number(getattr(node, field)))
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if hasattr(node, "body") and isinstance(node.body, list):
            node.body = [statement for statement in node.body if not _is_text(statement)]
    return ast.dump(tree)
