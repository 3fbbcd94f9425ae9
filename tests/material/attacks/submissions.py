"""Attacks and honest submissions, and what each should get.

An attack is a file in `cases/`, or a row in `rows/`: one function, whose file's first lines say what becomes of it
(`kind`). Comments above a row, or at the top of its file for all rows, say what it should get.

An honest submission is a cell of a file in `honest/`: a program, with what it uses of the file's head.
"""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[3]
CASES, ROWS, PARTS = (Path(__file__).parent / name for name in ("cases", "rows", "parts"))
HONEST = ROOT / "tests/material/honest"
_FIELD = re.compile(r"^# (exercise|backend|expect|trouble|limits|weak|slow|case|kind): (.*)$", re.M)
_CELL = re.compile(r"^# %% (\w+)\n", re.M)
_INCLUDE = re.compile(r"^# include: (\w+)$", re.M)
_DECOY = "@triton.jit\ndef decoy_{0}(x_ptr, BLOCK: tl.constexpr):\n    tl.load(x_ptr)\n\n\n"
LONG = {
    '"@PARENTHESES@"': "(" * 3000 + ")" * 3000,
    '"@SUM@"': "1" + " + 1" * 2000,
    '"@DECOYS@"': "".join(map(_DECOY.format, range(64))) + f"decoys = [{', '.join(f'decoy_{i}' for i in range(64))}]",
    '"@SUMS@"': "\n".join(f"A{i + 1} = A{i} + A{i}" for i in range(40)),
    '"@PAIRS@"': "\n".join(f"T{i + 1} = (T{i}, T{i})" for i in range(40)),
}
AROUND = {  # a row of each kind
    "answer": "{function}",
    "beside": "{function}\n\n\n# include: right",
    "detour": "# include: copy_kernel\n\n\n# include: launch_and_detour\n\n\n{function}",
    "kernel": (PARTS / "silu_kernel.py").read_text().replace("    tl.store", "{body}\n    tl.store")
    + "\n\n# include: launch",
    "loading": "{body}\n\n\n# include: zeros",
}
FUNCTIONS = {"beside": "attack", "detour": "detour"}  # what is called, where it is not the answer


@dataclass(frozen=True)
class Submission:
    """A program and what it should get: ``full`` marks, ``less``, or ``nothing``; and the kind of the first trouble,
    if it matters. slow: whether `make test` leaves it to `make test-all`. case: one more of the exercise's that it is
    graded by.
    """

    name: str
    what: str
    source: str
    exercise: str
    backend: str
    expect: str = "full"
    trouble: str = ""
    limits: str = ""
    weak: str = ""
    slow: str = ""
    case: str = ""

    def wanted(self, level: str) -> str:
        """What it should get at this level; "" where it is not to be run there."""
        expected = self.weak if level == "weak" and self.weak else self.expect
        word = expected.split(":")[0]
        return "" if word == "skip" else word


@cache
def attacks() -> dict[str, Submission]:
    """Every attack by its name, in the order of the names."""
    found = _files(CASES) + [row for path in ROWS.glob("*.py") for row in _rows(path)]
    return {submission.name: submission for submission in sorted(found, key=lambda submission: submission.name)}


def honest() -> dict[str, Submission]:
    """Every honest submission by its name."""
    return {cell.name: cell for path in sorted(HONEST.glob("*.py")) for cell in _cells(path)}


def _files(folder: Path) -> list[Submission]:
    return [_file(path.stem, path.read_text()) for path in sorted(folder.glob("*.py"))]


def _file(name: str, text: str) -> Submission:
    what = ast.get_docstring(ast.parse(text)) or ""
    return Submission(name, what, _complete(text), **dict(_FIELD.findall(text)))


def _cells(path: Path) -> list[Submission]:
    """A submission for each cell ``# %% name``, with what it uses of the file's head and does not define itself."""
    head, *cells = _CELL.split(path.read_text())
    shared, found = dict(_FIELD.findall(head)), []
    for name, text in zip(cells[::2], cells[1::2], strict=True):
        fields, program = shared | dict(_FIELD.findall(text)), ast.parse(text)
        names = {fields["exercise"]} | _names(program)
        used = _used(names, set.union(*map(_bound, program.body)), ast.parse(head).body, head.splitlines())
        lines, begin = text.splitlines(), _begin(program)
        source = "\n".join([*lines[:begin], *used, *lines[begin:]])
        found.append(Submission(name, ast.get_docstring(program), source, **fields))
    return found


def _begin(program: ast.Module) -> int:
    """The number of lines that have to stand first: the docstring, and imports from ``__future__``."""
    docstring, *body = program.body
    future = [s for s in body if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
    return (future or [docstring])[-1].end_lineno


def _rows(path: Path) -> list[Submission]:
    """A submission for each function below a comment ``# expect:``, with what it uses of its file. Nothing is run."""
    text = path.read_text()
    lines, (_, *statements) = text.splitlines(), ast.parse(text).body
    shared = dict(_FIELD.findall(text[: text.index('"""')]))
    kind, found = shared.pop("kind"), []
    for node in statements:
        fields = _comments_above(lines, node)
        if "expect" in fields:
            fields = shared | fields
            body = "\n".join(lines[node.body[0].end_lineno : node.end_lineno])
            signature = lines[node.lineno - 1].removeprefix(f"def {node.name}")
            function = f"def {FUNCTIONS.get(kind, fields['exercise'])}{signature}\n{body}"
            program = AROUND[kind].format(function=function, body=dedent(body) if kind == "loading" else body)
            used = "\n\n\n".join(_used(_names(node), {node.name}, statements, lines))
            found.append(Submission(node.name, ast.get_docstring(node), _complete(f"{used}\n\n\n{program}"), **fields))
    return found


def _comments_above(lines: list[str], node: ast.stmt) -> dict[str, str]:
    first = last = node.lineno - 1
    while lines[first - 1].startswith("# "):
        first -= 1
    return dict(_FIELD.findall("\n".join(lines[first:last])))


def _used(names: set[str], bound: set[str], statements: list[ast.stmt], lines: list[str]) -> list[str]:
    """The texts of the statements that bind one of the names, or one that those need, in their order: imports,
    constants, functions and classes. bound: names that need nothing.
    """
    names, used = set(names), set()
    while more := {s for s in statements if s not in used and names & _bound(s) - bound}:
        used |= more
        names |= set.union(*map(_names, more))
    return [_text(s, names, lines) for s in statements if s in used]


def _names(node: ast.AST) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}


def _bound(statement: ast.stmt) -> set[str]:
    """What a statement at the top of a file defines."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.split(".")[0] for alias in statement.names}
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _text(statement: ast.stmt, names: set[str], lines: list[str]) -> str:
    """The statement's text; of an import the names that are used."""
    if isinstance(statement, ast.ImportFrom):
        aliases = [alias for alias in statement.names if (alias.asname or alias.name) in names]
        return ast.unparse(ast.ImportFrom(statement.module, aliases, statement.level))
    first = min(node.lineno for node in (statement, *getattr(statement, "decorator_list", ())))
    return "\n".join(lines[first - 1 : statement.end_lineno])


def _complete(source: str) -> str:
    """The text with its parts in it, and what is too long or too deep for a tool that reads the file."""
    while _INCLUDE.search(source):
        source = _INCLUDE.sub(lambda found: (PARTS / f"{found[1]}.py").read_text(), source)
    for word, text in LONG.items():
        source = source.replace(word, text)
    return source
