"""The code of a notebook: as Python, without what only IPython understands, line by line; and compared with the answer
that the course publishes, which is a mark for the teacher, never by itself a verdict.
"""

import ast
import functools
import re
import warnings
from collections.abc import Callable, Collection, Mapping

from IPython.core.inputtransformer2 import TransformerManager

from ...runner import imports_course
from ...words import is_python

NOTES = 20  # lines left out of a cell that are named one by one
NOT_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
_CELLS = 64  # a notebook's, each of which is asked for several times
_NAMED = {ast.Name: "id", ast.arg: "arg", ast.keyword: "arg", ast.FunctionDef: "name"}
PRYING = re.compile(
    r"class_secret|hidden_cases|gradebook|/etc/passwd|/proc/|os\.environ\b(?! *\[[^]]*\] *=[^=])|_getframe|get_objects"
)
SHORT = 6  # statements; of a shorter answer the course's text leaves only one way to write it


def plain_python(source: str) -> tuple[str, list[str]]:
    """``source`` without magics and shell escapes, and a sentence for each line left out.

    Python comes back as it is; so does what is no Python even without them.
    """
    if is_python(source):
        return source, []
    code, notes = _translated(source)
    return code, list(notes)


@functools.lru_cache(maxsize=_CELLS)  # hundreds of magics take IPython seconds
def _translated(source: str) -> tuple[str, tuple[str, ...]]:
    written = source.split("\n")
    lines, notes = list(written), []
    first = _first(lines)
    if lines[first].startswith("%%"):
        notes.append(_left_out(first, written, "is not Python"))
        lines[first] = ""
        first = _first(lines)
    try:
        rest = TransformerManager().transform_cell("\n".join(lines[first:]))  # it would drop the blank lines before
        code, more = _without("\n" * first + rest, written, _calls_ipython, "is not Python")
    except (*NOT_PYTHON, RuntimeError):  # RuntimeError: hundreds of magics
        return ("" if notes else source), tuple(notes)
    return code, (*notes, *more)


def without_course(source: str, records: Collection[str] = ()) -> tuple[str, list[str]]:
    """``source`` without its imports of this package and of the teacher's ``records``, which are modules; and a
    sentence for each line left out.
    """
    if not is_python(source):
        return source, []
    unwanted = functools.partial(imports_course, also=records)
    return _without(source, source.split("\n"), unwanted, "imports the course's own code")


def is_blank(source: str) -> bool:
    """Returns whether ``source`` is only blank lines and comments."""
    return is_python(source) and not _parse(source).body


def prying(cell: Mapping[str, str]) -> list[str]:
    """Returns what a cell of code names that no answer needs: the class's secret, accounts, the environment, other
    frames.
    """
    return PRYING.findall(cell["source"]) if cell["cell_type"] == "code" else []


def is_prose(source: str) -> bool:
    """Says whether a cell of code says something in words: it has no code but comments and strings, or is no Python."""
    code, left_out = plain_python(source)
    return (
        not left_out
        and bool(code.strip())
        and not (is_python(code) and any(not _is_text(n) for n in _parse(code).body))
    )


def defined(source: str) -> set[str]:
    """The functions that ``source``, magics aside, has at its top level."""
    return {node.name for node in _statements_of(source) if isinstance(node, ast.FunctionDef)}


def kernels(source: str) -> set[str]:
    """The functions that ``source`` compiles with Triton: those decorated by ``triton.jit``, ``jit`` or the like."""
    return {
        node.name
        for node in _statements_of(source)
        if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(line) for line in node.decorator_list)
    }


def launches(source: str, among: Collection[str]) -> bool:
    """Returns whether ``source`` launches one of these kernels: ``kernel[grid](x)``."""
    called = (
        node.func for statement in _statements_of(source) for node in ast.walk(statement) if isinstance(node, ast.Call)
    )
    subscripted = (func.value for func in called if isinstance(func, ast.Subscript))
    return any(isinstance(value, ast.Name) and value.id in among for value in subscripted)


def _statements_of(source: str) -> list[ast.stmt]:
    """The statements of a cell's code, magics aside; none of what is no Python."""
    code, _ = plain_python(source)
    return _parse(code).body if is_python(code) else []


def _first(lines: list[str]) -> int:
    """The index of the first line that is not blank."""
    return next((number for number, line in enumerate(lines) if line.strip()), len(lines))


def _parse(source: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an invalid escape in a learner's string
        return ast.parse(source)


def _without(source: str, written: list[str], unwanted: Callable[[ast.stmt], bool], why: str) -> tuple[str, list[str]]:
    """``source`` with ``pass`` for every unwanted statement. The others stay on the lines that tracebacks name."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")  # as the parser counts lines
    nodes = [node for node in ast.walk(_parse(source)) if isinstance(node, ast.stmt) and unwanted(node)]
    text = source.encode()  # the parser counts columns in bytes
    begins = [0, *(match.end() for match in re.finditer(rb"\n", text))]
    kept: list[bytes] = []
    rows: list[int] = []
    at = owed = 0
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        begin = begins[node.lineno - 1] + node.col_offset
        if begin < at:  # within one that is left out already
            continue
        last, column = node.end_lineno or node.lineno, node.end_col_offset or 0  # what was parsed has both
        end = begins[last - 1] + column
        between, owed = _with_owed_lines(text[at:begin], owed)
        kept += [between, b"pass"]
        at, owed = end, owed + last - node.lineno
        if not rows or rows[-1] != node.lineno - 1:
            rows.append(node.lineno - 1)
    kept.append(_with_owed_lines(text[at:], owed)[0])
    notes = [_left_out(row, written, why) for row in rows[:NOTES]]
    more = len(rows) - NOTES
    notes += [f"{more:,} more lines were left out for the same reason."] if more > 0 else []
    return b"".join(kept).decode(), notes


def _with_owed_lines(text: bytes, owed: int) -> tuple[bytes, int]:
    """``text`` with the line breaks that were taken out before it put where its first line ends, and how many are still
    to be put back.
    """
    line, newline, rest = text.partition(b"\n")
    return (line + b"\n" * owed + newline + rest, 0) if newline else (text, owed)


def _calls_ipython(statement: ast.stmt) -> bool:
    if hasattr(statement, "body"):  # a block goes statement by statement
        return False
    names = (node.id for node in ast.walk(statement) if isinstance(node, ast.Name))
    return "get_ipython" in names


def _left_out(row: int, written: list[str], why: str) -> str:
    line = written[row].strip() if row < len(written) else ""
    return f"Line {row + 1} {why} and was left out: {line[:60]}{'...' if len(line) > 60 else ''}"


def is_published(source: str, published: str) -> bool:
    """Says whether two answers are one program but for names, comments, docstrings and layout, and not a short one."""
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
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    numbers: dict[str, str] = {}

    def number(name: str | None) -> str | None:
        return numbers.setdefault(name, f"name{len(numbers)}") if name in bound else name

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
