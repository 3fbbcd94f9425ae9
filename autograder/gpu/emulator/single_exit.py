"""A function that returns from several places, as one that returns at its end, where programs can wait for each other.

if s > 0:               if s > 0:
    return s * 0.5          _returned = s * 0.5
return s + j            else:
                            _returned = s + j
                        return _returned
"""

import ast

RESULT = "_returned"


def with_single_exit(tree: ast.Module) -> ast.Module:
    """A function as it is where it returns from a loop, or ends without a result, as a kernel does."""
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    several = sum(isinstance(part, ast.Return) for part in ast.walk(definition)) > 1
    made = _ending(definition.body) if several else None
    if made is not None:
        last = ast.Return(ast.Name(RESULT, ast.Load()))
        definition.body = [*made, _placed(last, definition.body[-1])]
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
                second = _ending([*node.orelse, *rest])
            elif second is not None:
                first = _ending([*node.body, *rest])
            if first is None or second is None:
                return None
            return [*before, ast.copy_location(ast.If(node.test, first, second), node)]
        if _returns(node):
            return None
    return None


def _kept(node: ast.Return, value: ast.expr) -> ast.stmt:
    return _placed(ast.Assign([ast.Name(RESULT, ast.Store())], value), node)


def _returns(node: ast.stmt) -> bool:
    return any(isinstance(part, ast.Return) for part in ast.walk(node))


def _placed(made: ast.stmt, node: ast.stmt) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(made, node))
