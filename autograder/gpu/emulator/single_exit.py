"""A function that returns from several places, as one that returns at its end, where programs can wait for each other.

if s > 0:               if s > 0:
    return s * 0.5          _returned = s * 0.5
return s + j            else:
                            _returned = s + j
                        return _returned

The compiler reads what stands behind an ``if`` also where a constant lets it return: what a function returns is a
constant only if it is the same in all that is read. So the side that returns ends with ``_returned = _beside(_returned,
s + j)``, of which `dialect` makes a call.
"""

import ast
import copy

RESULT = "_returned"
BESIDE = "_beside"
_CONSTANT = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.expr_context, ast.operator, ast.unaryop)


def with_single_exit(tree: ast.Module) -> ast.Module:
    """A function as it is where it returns from a loop, or ends without a result, as a kernel does."""
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    several = sum(isinstance(part, ast.Return) for part in ast.walk(definition)) > 1
    body = _ending(definition.body) if several else None
    if body is not None:
        last = ast.Return(ast.Name(RESULT, ast.Load()))
        definition.body = [*body, _placed(last, definition.body[-1])]
    return tree


def _ending(body: list[ast.stmt]) -> list[ast.stmt] | None:
    """A block that leaves behind what it would return; None where not every way through it returns a value."""
    for number, node in enumerate(body):
        before, rest = body[:number], body[number + 1 :]
        if isinstance(node, ast.Return):
            return None if node.value is None else [*before, _kept(node, node.value)]
        if isinstance(node, ast.If) and _returns(node):
            first, second = _ending(node.body), _ending(node.orelse)
            if first is not None:
                first = [*first, *_beside(node, second, rest)]
                second = _ending([*node.orelse, *rest])
            elif second is not None:
                second = [*second, *_beside(node, first, rest)]
                first = _ending([*node.body, *rest])
            if first is None or second is None:
                return None
            return [*before, ast.copy_location(ast.If(node.test, first, second), node)]
        if _returns(node):
            return None
    return None


def _kept(node: ast.Return, value: ast.expr) -> ast.stmt:
    return _placed(ast.Assign([ast.Name(RESULT, ast.Store())], value), node)


def _beside(node: ast.If, other: list[ast.stmt] | None, rest: list[ast.stmt]) -> list[ast.stmt]:
    """Returns what is read as well, behind a side that returns: nothing where the other side returns, too."""
    if other is not None or not rest:
        return []
    values = [
        part.value for statement in rest for part in ast.walk(statement) if isinstance(part, ast.Return) and part.value
    ]
    read = [copy.deepcopy(value) if _is_constant(value) else ast.Constant(None) for value in values]
    call = ast.Call(ast.Name(BESIDE, ast.Load()), [ast.Name(RESULT, ast.Load()), *read], [])
    return [_placed(ast.Assign([ast.Name(RESULT, ast.Store())], call), node)]


def _is_constant(value: ast.expr) -> bool:
    """Returns whether an expression may be a constant, and reading it changes nothing."""
    return all(isinstance(part, _CONSTANT) for part in ast.walk(value))


def _returns(node: ast.stmt) -> bool:
    return any(isinstance(part, ast.Return) for part in ast.walk(node))


def _placed(statement: ast.stmt, node: ast.stmt) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(statement, node))
