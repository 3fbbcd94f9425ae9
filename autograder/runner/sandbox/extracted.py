"""A function of this process as text that runs in the sandbox: its file or cells, and those of its kernels."""

import ast
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from ...gpu import Surroundings
from ..call.answer import Answer, AnswerError, Cell, imports_course, parse, refuse
from ..call.contract import Contract
from ..call.examination import Call, Examined
from .isolated import Isolated
from .probe import SandboxError

SETUP = Cell("setup", "import math\n\nimport torch\nimport triton\nimport triton.language as tl\n")


class Extracted(Isolated):
    """An answer that runs in its own process: where its text alone does not load, that is not a fault of its values.

    Raises SandboxError where it has no text that may run there.
    """

    def __init__(self, function: Callable[..., Any], contract: Contract):
        try:
            answer = answer_of(function, contract.name)
        except (AnswerError, TypeError) as error:
            raise SandboxError(str(error)) from None
        super().__init__(answer, contract, "triton")

    def examine(self, call: Call) -> Examined:
        """Returns what `Isolated.examine` returns. Raises SandboxError where the text does not load."""
        examined = super().examine(call)
        trouble = examined.first.trouble
        if trouble and trouble.kind == "unloadable":
            raise SandboxError(f"the code around it does not run on its own: {trouble.message}")
        return examined


def answer_of(function: Callable[..., Any], exercise: str) -> Answer:
    """The code of a function and of the kernels it launches: what its file has of that, or their cells of a notebook,
    its own last.

    Raises TypeError where it is not a plain function, so that it has no text, and AnswerError where its text may not
    be run.
    """
    if not isinstance(function, FunctionType):
        raise TypeError(f"a {type(function).__name__} has no text that the emulator could run: check a plain function")
    texts = [_without_course(text) for text in reversed(Surroundings(function).texts())]
    if Path(function.__code__.co_filename).is_file():
        texts[-1] = needed(texts[-1], function.__name__)
    for text in texts:
        refuse(text)
    if function.__name__ != exercise:
        texts[-1] += f"\n\n{exercise} = {function.__name__}\n"
    parts = (Cell(f"part {number}", text) for number, text in enumerate(texts, 1))
    return Answer(exercise, (SETUP, *parts))


def _without_course(source: str) -> str:
    """``source`` with its imports of this package left out."""
    tree = parse(source)
    tree.body = [node for node in tree.body if not imports_course(node)]
    return ast.unparse(tree)


def needed(source: str, name: str) -> str:
    """The statements at the top of a module that define ``name``, and what these need: a file of tests has more."""
    body = ast.parse(source).body
    kept: set[ast.stmt] = {n for n in body if isinstance(n, ast.ImportFrom) and n.module == "__future__"}
    wanted = [name]
    while wanted:
        defined = wanted.pop()
        statements = {node for node in body if defined in _defined(node)} - kept
        wanted += [part.id for node in statements for part in ast.walk(node) if isinstance(part, ast.Name)]
        kept |= statements
    return ast.unparse(ast.Module([node for node in body if node in kept], []))


def _defined(node: ast.stmt) -> set[str]:
    """The names that a statement of a module defines in it."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    parts = list(ast.walk(node))
    imports = [alias for part in parts if isinstance(part, ast.Import | ast.ImportFrom) for alias in part.names]
    stored = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    inner = {part.name for part in parts if isinstance(part, ast.FunctionDef | ast.ClassDef)}  # below an `if`, say
    return stored | inner | {alias.asname or alias.name.partition(".")[0] for alias in imports}
