"""What the top level of a module binds, read from its text: functions, imports, constants. Nothing is executed."""

import ast
import math
import operator
from dataclasses import dataclass

_UNARY = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_}
_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}
_CALLS = {"float": float, "int": int, "bool": bool, "abs": abs, "round": round, "min": min, "max": max}
_FLOATS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}


class Unknown(Exception):
    """An expression whose value cannot be told without running it."""


class Refused(Exception):
    """Why a kernel is not compiled. status: "fail" where no GPU could run it, "not-run" where we cannot tell."""

    def __init__(self, status: str, message: str, line: int | None = None):
        super().__init__(message)
        self.status, self.message, self.line = status, message, line


@dataclass(frozen=True)
class Import:
    """``import module`` or, with a name, ``from module import name``."""

    module: str
    name: str | None = None

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module

    @property
    def in_triton(self) -> bool:
        return self.module.partition(".")[0] == "triton"


def bindings(tree: ast.Module) -> dict[str, list]:
    """name -> what may be bound to it, most likely first: `Import`, an ast statement, or the ast expression assigned.

    Of a function defined twice the last one counts, as in Python. An ``except`` or ``else`` branch adds second choices.
    """
    found: dict[str, list] = {}
    _collect(tree.body, found, first=True)
    return found


def _collect(body: list[ast.stmt], found: dict[str, list], first: bool) -> None:
    for statement in body:
        for name, value in _bound_by(statement):
            found[name] = [value] if first else [*found.get(name, []), value]
        if isinstance(statement, ast.Try):
            _collect(statement.body + statement.orelse + statement.finalbody, found, first)
            for handler in statement.handlers:
                _collect(handler.body, found, first=False)
        if isinstance(statement, ast.If):
            _collect(statement.body, found, first)
            _collect(statement.orelse, found, first=False)


def _bound_by(statement: ast.stmt):
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
    """["tl", "math", "exp"] for the expression tl.math.exp, None for anything that is not names and dots."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *names[::-1]] if isinstance(node, ast.Name) else None


class Evaluator:
    """Values of module-level expressions, by arithmetic on literals, in the form that `extract` describes."""

    def __init__(self, names: dict[str, list]):
        self.names = names
        self._open: set[str] = set()  # names under evaluation, so that X = X + 1 ends

    def path(self, node: ast.AST) -> str | None:
        """The full name of what an expression like ``tl.constexpr`` refers to: "triton.language.constexpr"."""
        names = dotted(node)
        if not names:
            return None
        bound = self.names.get(names[0], [None])[0]
        if isinstance(bound, Import):
            names[0] = bound.path
        elif bound is not None:
            return None
        return ".".join(names)

    def value(self, node: ast.AST):
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() as value):
                return value
            case ast.Tuple(elts=items):
                return {"tuple": [self.value(item) for item in items]}
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
                return self._apply(_UNARY[type(op)], operand)
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
                return self._apply(_BINARY[type(op)], left, right)
            case ast.Name() | ast.Attribute():
                return self._reference(node)
            case ast.Call(func=func, args=args, keywords=[]):
                return self._call(self.path(func), args)
        raise Unknown

    def _reference(self, node: ast.AST):
        if isinstance(node, ast.Name) and node.id in self.names:
            bound = self.names[node.id][0]
            if isinstance(bound, ast.expr):
                return self._once(node.id, bound)
        path = self.path(node) or ""
        module, _, name = path.rpartition(".")
        if module.startswith("triton."):
            return {"import": module, "name": name}
        return self.float_of(path)

    def float_of(self, path: str) -> float:
        """The number that math.pi, numpy.inf and the like stand for."""
        module, _, name = path.rpartition(".")
        if module not in ("math", "numpy", "torch") or name not in _FLOATS:
            raise Unknown
        return _FLOATS[name]

    def _once(self, name: str, expression: ast.expr):
        if name in self._open:
            raise Unknown
        self._open.add(name)
        try:
            return self.value(expression)
        finally:
            self._open.discard(name)

    def _call(self, path: str | None, args: list[ast.expr]):
        if path and path.startswith("triton.") and path.endswith(".constexpr") and len(args) == 1:
            return {"constexpr": self.value(args[0])}
        if path and path.startswith("math.") and callable(getattr(math, path[5:], None)):
            return self._apply(getattr(math, path[5:]), *args)
        if path in _CALLS:
            return self._apply(_CALLS[path], *args)
        raise Unknown

    def _apply(self, function, *operands: ast.expr):
        values = [self.value(operand) for operand in operands]
        constexpr = any(isinstance(v, dict) and "constexpr" in v for v in values)
        values = [v["constexpr"] if isinstance(v, dict) and "constexpr" in v else v for v in values]
        if any(isinstance(v, dict) for v in values) or any(isinstance(v, int) and abs(v) >= 2**64 for v in values):
            raise Unknown
        if function in (operator.pow, operator.lshift, math.factorial, math.comb, math.perm) and abs(values[-1]) > 64:
            raise Unknown  # a number too long to be meant
        if any(isinstance(v, str) for v in values) and function not in (float, int, operator.add):
            raise Unknown
        try:
            result = function(*values)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise Unknown from error
        if not isinstance(result, bool | int | float | str):
            raise Unknown
        return {"constexpr": result} if constexpr else result
