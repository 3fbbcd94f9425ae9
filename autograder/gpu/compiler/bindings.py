"""Says what the top level of a module binds, read from its text: functions, imports, constants. Nothing is executed."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass


class RefusedKernel(Exception):
    """Why a kernel is not compiled. status: "fail" where no GPU could run it, "not-run" where we cannot tell. known:
    Triton's compiler refuses it as well, without a look at what it means. slow: it was not done in the time that one
    form may take.
    """

    def __init__(self, status: str, message: str, line: int | None = None, known: bool = False, slow: bool = False):
        super().__init__(message)
        self.status, self.message, self.line, self.known, self.slow = status, message, line, known, slow


@dataclass(frozen=True)
class Import:
    """``import module`` or, with a name, ``from module import name``."""

    module: str
    name: str | None = None

    @property
    def path(self) -> str:
        """The full dotted name of what is imported."""
        return f"{self.module}.{self.name}" if self.name else self.module

    @property
    def in_triton(self) -> bool:
        """Returns whether it is imported from Triton."""
        return self.module.partition(".")[0] == "triton"


Bound = Import | ast.stmt | ast.expr
BoundNames = dict[str, list[Bound]]


def bindings(tree: ast.Module) -> BoundNames:
    """Returns for each name what may be bound to it, most likely first: `Import`, a statement, or an expression.

    A function defined twice is the last one, as in Python. An ``except`` or ``else`` branch adds second choices.
    """
    bound_names: BoundNames = {}
    _collect(tree.body, bound_names, first=True)
    return bound_names


def _collect(body: list[ast.stmt], bound_names: BoundNames, first: bool) -> None:
    for statement in body:
        for name, value in _bound_by(statement):
            if first:
                bound_names[name] = [value, *(bound_names.get(name, []) if _wraps(value, name) else [])]
            else:
                bound_names.setdefault(name, []).append(value)
        if isinstance(statement, ast.Try):
            _collect(statement.body + statement.orelse + statement.finalbody, bound_names, first)
            for handler in statement.handlers:
                _collect(handler.body, bound_names, first=False)
        if isinstance(statement, ast.If):
            _collect(statement.body, bound_names, first)
            _collect(statement.orelse, bound_names, first=False)


def _wraps(value: Bound, name: str) -> bool:
    """Returns whether a value is a call with what the name stood for before, as in ``kernel = triton.jit(kernel)``."""
    arguments = value.args if isinstance(value, ast.Call) else []
    return any(isinstance(argument, ast.Name) and argument.id == name for argument in arguments)


def _bound_by(statement: ast.stmt) -> Iterator[tuple[str, Bound]]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name, statement
        case ast.Import(names=names):
            for alias in names:
                package = alias.name.partition(".")[0]  # what ``import a.b`` binds
                yield (alias.asname, Import(alias.name)) if alias.asname else (package, Import(package))
        case ast.ImportFrom(module=module, names=names, level=level):
            for alias in names:
                yield alias.asname or alias.name, Import("." * level + (module or ""), alias.name)
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, value
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            yield name, value


def dotted(node: ast.AST) -> list[str] | None:
    """Returns ["tl", "math", "exp"] for the expression tl.math.exp, None for anything that is not names and dots."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *names[::-1]] if isinstance(node, ast.Name) else None
