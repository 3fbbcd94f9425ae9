"""Answers as text: a file or the cells of a notebook, turned into the function they define.

Code is run under a name that ``inspect`` and tracebacks can find its lines by: Triton reads a kernel's source back.
"""

import __future__

import ast
import dis
import linecache
import sys
import traceback
import types
from collections.abc import Callable, Collection, Container, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...gpu import KernelLaunch
from ...words import is_python
from .definitions import definitions_in
from .package import PackageError, PackageModule, collect, install

OURS = "graded_kernels"


class OperatorRefused(RuntimeError):
    """Raised by an operator that answers may not call: ``operator``, without its namespace and overload."""

    def __init__(self, message: str, operator: str = ""):
        super().__init__(message)
        self.operator = operator


class AnswerError(ValueError):
    """An answer that cannot be called; the message says why and what to do. ``details`` holds a traceback, if any.

    ours: it began with an operator that the grader refuses, which elsewhere would have run.
    stopped: the error that its code stopped with, as Python says it.
    missing: the import of a module that is not there.
    line: the line of the cell that failed.
    """

    def __init__(
        self,
        message: str,
        details: str = "",
        ours: bool = False,
        missing: str = "",
        line: str = "",
        stopped: str = "",
    ):
        super().__init__(message)
        self.details, self.ours, self.missing, self.line, self.stopped = details, ours, missing, line, stopped


class NoFunction(AnswerError):
    """An answer that defines no function of the exercise's name."""


class AnswerRefused(AnswerError):
    """An answer that reaches for the grader or for the course's own answers."""


@dataclass(frozen=True)
class Cell:
    """A piece of code with the name its lines are found by."""

    name: str
    source: str

    @property
    def definitions(self) -> "Cell":
        """Returns what is left of it where it does not end."""
        return Cell(f"definitions of {self.name}", definitions_in(self.source) if is_python(self.source) else "")


def _kept(cell: Cell, names: Container[str]) -> Iterator[Cell]:
    if cell.name not in names:
        yield cell
    elif cell.definitions.source and cell.definitions.name not in names:
        yield cell.definitions


@dataclass(frozen=True)
class Answer:
    """The code of an answer to ``exercise``: cells in the order in which they run.

    after: how many cells follow the one that is to define the function, and may hold what it calls.
    module: whether it is to be imported as a whole, so that an error anywhere in it is an error of the answer. In a
        notebook a cell that fails does not keep later ones from running.
    name, modules: of a file in a package, as what it is imported, and what it imports of that package.
    """

    exercise: str
    cells: tuple[Cell, ...]
    after: int = 0
    module: bool = False
    name: str = "answer"
    modules: tuple[PackageModule, ...] = ()

    @classmethod
    def read(cls, path: str | Path, exercise: str, root: Path | None = None) -> "Answer":
        """The answer in a Python file; with a root, the folder that its imports begin in, what it imports from there,
        too. Raises AnswerError where there is no such text.
        """
        try:
            source = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise AnswerError(f"{path} cannot be read: {error}") from None
        answer = cls(exercise, (Cell(str(path), source),), module=True)
        if root is None:
            return answer
        try:
            name, modules = collect(Path(path), root)
        except PackageError as error:
            raise AnswerError(str(error)) from None
        return replace(answer, name=name, modules=modules)

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Answer":
        """The answer that `dataclasses.asdict` gave this of, after it was JSON."""
        cells = tuple(Cell(**cell) for cell in data["cells"])
        modules = tuple(PackageModule(**module) for module in data["modules"])
        return cls(**data | {"cells": cells, "modules": modules})

    @property
    def defining_cell(self) -> str:
        """The name of the cell that is to define the function."""
        return self.cells[-1 - self.after].name

    def without(self, names: Container[str]) -> "Answer":
        """This answer with the definitions alone of the cells of these names, and without those that have none or whose
        definitions bear one of these names, too; its own stays in any case.
        """
        before, after = self.cells[: -1 - self.after], self.cells[len(self.cells) - self.after :]
        kept, later = ([part for cell in cells for part in _kept(cell, names)] for cells in (before, after))
        return replace(self, cells=(*kept, self.cells[-1 - self.after], *later), after=len(later))

    @property
    def text(self) -> str:
        """All of its code."""
        return KernelLaunch.joined(cell.source for cell in self.cells)

    @property
    def python(self) -> str:
        """The module that its kernels are read from: its cells that are Python. One that is not has defined nothing,
        and would keep the kernels of all others from being read.
        """
        return KernelLaunch.joined(cell.source for cell in self.cells if is_python(cell.source))

    def load(
        self,
        done: Callable[[], object] = lambda: None,
        go_on: bool = False,
        failed_in: Callable[[AnswerError], object] = lambda error: None,
    ) -> Callable[..., Any]:
        """Runs the cells and returns the function they define. Raises AnswerError.

        In a notebook a cell that fails does not keep later ones from running, nor does one before the answer's own that
        is refused, and so not run; the error is reported if the function is missing. done: called after each cell.
        go_on: nor does a statement that fails keep later ones of its cell from running, whatever they lack for it; in
        the answer's own cell, one that the grader stopped. Where answers are graded, a comparison with PyTorch's own
        function meets a closed operator, a module or a file of the learner's is not there, and the definitions below it
        are wanted all the same. failed_in: called with the error of each cell.
        """
        module = _module(self)
        failed: AnswerError | None = None
        for number, cell in enumerate(self.cells, 1 + self.after - len(self.cells)):  # 0 is the answer's own
            if number <= 0:
                # An earlier answer of that name, in the other backend, is not this one.
                module.__dict__.pop(self.exercise, None)
            try:
                refuse(cell.source, packaged=bool(self.modules))
                run(cell, module, go_on, past_any=go_on and number != 0 and not self.module)
            except AnswerError as error:
                failed_in(error)
                if (isinstance(error, AnswerRefused) and number >= 0) or (self.module and not error.ours):
                    raise
                failed = error
            done()
        function: Callable[..., Any] | None = module.__dict__.get(self.exercise)
        if callable(function):
            return function
        raise failed or NoFunction(f"There is no function {self.exercise}. Name the function like the exercise.")


def _module(answer: Answer) -> types.ModuleType:
    """Returns an empty module for the answer, where Triton and dataclasses look it up by its name."""
    install(answer.modules)
    for imported_module in answer.modules:
        refuse(imported_module.source, packaged=True)
    module = types.ModuleType(answer.name)
    module.__package__ = answer.name.rpartition(".")[0]
    sys.modules[answer.name] = module
    return module


def run(cell: Cell, module: types.ModuleType, go_on: bool = False, past_any: bool = False) -> None:
    """Runs one cell in ``module``. Raises AnswerError where it stops; with go_on, after what comes below a statement
    that the grader stopped; with past_any, below any that failed.
    """
    filename = f"<{cell.name}>"
    module.__dict__.setdefault("In", []).append(
        cell.source
    )  # as in IPython: the cells run so far, to find constants in
    linecache.cache[filename] = (len(cell.source), None, cell.source.splitlines(keepends=True), filename)
    code: str | ast.Module | None = cell.source
    flags, failed = 0, None
    while code:
        try:
            exec(compile(code, filename, "exec", flags, dont_inherit=True), module.__dict__)
            break
        except (Exception, SystemExit) as error:
            message, ours = f"{type(error).__name__}: {error}", isinstance(error, OperatorRefused)
            missing = _import_of(error.name, cell.source) if isinstance(error, ModuleNotFoundError) else ""
            at = error.__traceback__ and error.__traceback__.tb_next  # none where the text was not compiled
            line = cell.source.splitlines()[at.tb_lineno - 1].strip() if at else ""
            sentence = f"Running the code stopped with {message}"
            failed = failed or AnswerError(sentence, trace(error), ours, missing, line, stopped=message)
            if at is None or not (past_any or (go_on and failed.ours)):
                break
            code, flags = _below(cell.source, at.tb_lineno)
    if failed:
        raise failed


def _import_of(module: str | None, source: str) -> str:
    """The statement of ``source`` that imports this module, or something in it."""
    for node in ast.walk(parse(source)):
        if any(name == module or name.startswith(f"{module}.") for name in imported(node)):
            return ast.unparse(node)
    return ""


def _below(source: str, line: int) -> tuple[ast.Module | None, int]:
    """Returns what begins below this line at the top of ``source``, if anything does, and the compiler's flags for what
    ``source`` imports from ``__future__``.
    """
    body = parse(source).body
    features = [n.names for n in body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    flags = sum(getattr(__future__, name.name).compiler_flag for names in features for name in names)
    body = [node for node in body if _begin(node) > line]
    return (ast.Module(body, []) if body else None), flags


def _begin(node: ast.stmt) -> int:
    """The first line of a statement, that of its decorators included."""
    decorators: list[ast.stmt | ast.expr] = getattr(node, "decorator_list", [])
    return min(part.lineno for part in [node, *decorators])


def refuse(source: str, packaged: bool = False) -> None:
    """Raises AnswerRefused where ``source`` imports the course's package, AnswerError where it is not Python or needs a
    package around it that is not there.
    """
    tree = parse(source)
    for node in _statements(tree):
        if isinstance(node, ast.stmt) and imports_course(node):
            where = f"Line {node.lineno} imports {OURS}"
            raise AnswerRefused(f"{where}: an answer stands on its own, without the course's code.")
    for node in tree.body:  # at the top alone: within a `try` there may be another way
        if isinstance(node, ast.ImportFrom) and node.level and not packaged:
            where = f"Line {node.lineno} imports from the package around it"
            raise AnswerError(
                f"{where}: an answer is run on its own. Name the folder around "
                "the package with --root, or copy what it needs."
            )


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yields every statement, at any depth. `ast.walk` visits expressions as well, and takes thirty times as long."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            left += getattr(node, block, [])


def imports_course(node: ast.AST, also: Collection[str] = ()) -> bool:
    """Returns whether a statement imports of the course's package, or of the modules ``also``."""
    return any(module.split(".")[0] in (OURS, *also) for module in imported(node))


def imported(node: ast.AST) -> list[str]:
    """The modules an import statement names; none for any other statement."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []


def parse(source: str) -> ast.Module:
    """Returns the syntax tree. Raises AnswerError where ``source`` is not Python."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise AnswerError(f"This is not Python, line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise AnswerError(f"This cannot be read as Python: {error}") from None


def trace(error: BaseException) -> str:
    """The lines of the traceback that lie in the answer, with the error: what its author can act on."""
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if f.filename.startswith("<") and not f.filename.startswith("<frozen ")
    ]
    lines = traceback.format_list(frames) + traceback.format_exception_only(error)
    return "".join(lines).rstrip()


Instructions = tuple[tuple[str, object], ...]


def _instructions(code: types.CodeType) -> Instructions:
    return tuple((step.opname, step.argval) for step in dis.get_instructions(code))


def _body(statement: str) -> Instructions:
    return _instructions(compile(f"def stub():\n    {statement}\n", "", "exec").co_consts[0])


# An nbgrader of another course may have its own; ours is the first.
_STUBS = {_body("..."), _body("raise NotImplementedError"), _body("raise NotImplementedError()")}


def is_stub(function: Callable[..., Any]) -> bool:
    """Returns whether a function's body does nothing: ``...``, ``pass``, a docstring, or nbgrader's
    NotImplementedError.
    """
    code = getattr(function, "__code__", None)
    return isinstance(code, types.CodeType) and _instructions(code) in _STUBS
