"""Values of module-level constants, worked out from the text within a budget: the text may have been written to hang
whoever reads it.
"""

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from .bindings import BoundNames, Import, dotted

BUDGET = 20_000  # what all constants of a launch may take together: an expression, an element, a character count as one
DEEP = 100  # expressions within expressions, through names as well
DIGITS = 64  # bits of a number; of an exponent and of a shift what they may be
_UNARY: dict[type, Callable[..., Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_BINARY: dict[type, Callable[..., Any]] = {
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
_CALLS: dict[str, Callable[..., Any]] = {
    "float": float,
    "int": int,
    "bool": bool,
    "abs": abs,
    "round": round,
    "min": min,
    "max": max,
}
_MATH = "ceil cos erf erfc exp exp2 expm1 fabs floor fmod gcd isqrt ldexp log log10 log1p log2 pow sin sqrt tan tanh"
_CALLS |= {f"math.{name}": getattr(math, name) for name in _MATH.split()}
_SIZED = (operator.pow, operator.lshift, round)  # the second operand decides how much work it is
_OF_TEXT = (float, int, operator.add)
_FLOATS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}


class Unknown(Exception):
    """An expression whose value cannot be told without running it, or only with more work than a constant is worth."""


class Evaluator:
    """Values of module-level expressions, by arithmetic on literals, in the form that `extract` describes.

    Every name is worked out once. Numbers of more than 64 bits, and whatever exceeds `BUDGET` or `DEEP`, are Unknown.
    """

    def __init__(self, names: BoundNames) -> None:
        self.names = names
        self._known: dict[str, object] = {}  # by name: its value, or the Unknown that it is
        self._depth = self._spent = 0

    def path(self, node: ast.AST) -> str | None:
        """Returns the full name of what an expression like ``tl.constexpr`` refers to, as in
        "triton.language.constexpr"; None where that is not known.
        """
        names = dotted(node)
        if not names:
            return None
        bound = self.names.get(names[0], [None])[0]
        if isinstance(bound, Import):
            names[0] = bound.path
        elif bound is not None:
            return None
        return ".".join(names)

    def value(self, node: ast.AST) -> Any:
        """Returns the value of an expression, in the form that `extract` describes. Raises Unknown."""
        self._depth += 1
        try:
            if self._depth > DEEP:
                raise Unknown
            value = self._value(node)
        finally:
            self._depth -= 1
        self._spent += _size(value)
        if self._spent > BUDGET:
            raise Unknown
        return value

    def float_of(self, path: str) -> float:
        """Returns the number that math.pi, numpy.inf and the like stand for. Raises Unknown."""
        module, _, name = path.rpartition(".")
        if module not in ("math", "numpy", "torch") or name not in _FLOATS:
            raise Unknown
        return _FLOATS[name]

    def _value(self, node: ast.AST) -> Any:
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() as value) if not _is_long(value):
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

    def _reference(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Name) and node.id in self.names:
            bound = self.names[node.id][0]
            if isinstance(bound, ast.expr):
                return self._once(node.id, bound)
        path = self.path(node) or ""
        module, _, name = path.rpartition(".")
        if module.endswith(".PropagateNan"):  # an enumeration, not a module
            module, name = module.removesuffix(".PropagateNan"), f"PropagateNan.{name}"
        if module.startswith("triton."):
            return {"import": module, "name": name}
        return self.float_of(path)

    def _once(self, name: str, expression: ast.expr) -> Any:
        if name not in self._known:
            self._known[name] = Unknown()  # also while it is worked out, so that X = X + 1 ends
            self._known[name] = self.value(expression)
        if isinstance(self._known[name], Unknown):
            raise Unknown
        return self._known[name]

    def _call(self, path: str | None, args: list[ast.expr]) -> Any:
        if path and path.startswith("triton.") and path.endswith(".constexpr") and len(args) == 1:
            return {"constexpr": self.value(args[0])}
        if path in _CALLS:
            return self._apply(_CALLS[path], *args)
        raise Unknown

    def _apply(self, function: Callable[..., Any], *operands: ast.expr) -> Any:
        values = [self.value(operand) for operand in operands]
        constexpr = any(isinstance(v, dict) and "constexpr" in v for v in values)
        values = [v["constexpr"] if isinstance(v, dict) and "constexpr" in v else v for v in values]
        if any(isinstance(v, dict) or _is_long(v) for v in values):
            raise Unknown
        if function not in _OF_TEXT and any(isinstance(v, str) for v in values):
            raise Unknown
        if function in _SIZED and any(isinstance(v, int) and abs(v) > DIGITS for v in values[1:]):
            raise Unknown
        try:
            result = function(*values)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise Unknown from error
        if not isinstance(result, bool | int | float | str) or _is_long(result):
            raise Unknown
        return {"constexpr": result} if constexpr else result


def _is_long(value: object) -> bool:
    return isinstance(value, int) and abs(value) >= 2**DIGITS


def _size(value: object) -> int:
    """Elements and characters. It takes as many steps, which is why they are paid for."""
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(_size, value))
    return 1 + len(value) if isinstance(value, str) else 1
