"""Says what of a cell's code does nothing but define: it is kept where a cell does not end."""

import ast
import warnings

_DEFINE = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_VALUES = (ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.List, ast.Dict, ast.Set)
_PLAIN = (*_VALUES, ast.expr_context, ast.unaryop, ast.operator)


def definitions_in(source: str) -> str:
    """The statements at the top of ``source`` that import, define a function or a class, or assign a value that is
    written down (`_is_plain`), on the lines they are on; other lines are empty. "" where there are none. Raises
    SyntaxError.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an invalid escape in a learner's string
        body = ast.parse(source).body
    others = {line for node in body if not _defines(node) for line in _lines(node)}
    kept = {line for node in body if _defines(node) and others.isdisjoint(_lines(node)) for line in _lines(node)}
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")  # as the parser counts them
    return "\n".join(text if line in kept else "" for line, text in enumerate(lines, 1)) if kept else ""


def _defines(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return node.value is not None and _is_plain(node.value)
    return isinstance(node, _DEFINE)


def _is_plain(value: ast.expr) -> bool:
    """Returns whether it is made of constants, names, attributes and operators, `tl.constexpr(1024)` included: nothing
    that can run for long is called.
    """
    return all(isinstance(node, _PLAIN) or _makes_constexpr(node) for node in ast.walk(value))


def _makes_constexpr(node: ast.AST) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    return (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")) == "constexpr"


def _lines(node: ast.stmt) -> range:
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
    return range(first, (node.end_lineno or node.lineno) + 1)
