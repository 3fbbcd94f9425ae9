"""Offsets into a whole tensor that a kernel computes in 32 bits. No case is large enough for them to wrap around."""

import ast


def narrow(kernel: ast.FunctionDef) -> bool:
    """Whether a product of ``tl.program_id(0)``, of 32 bits, is part of what the kernel adds to one of its parameters.

    Parts may have names. A call between the two, such as ``.to(tl.int64)``, makes it wide.
    """
    parameters, nodes = {argument.arg for argument in kernel.args.args}, list(ast.walk(kernel))
    named = {
        target.id: node.value
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    added = [
        (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        for node in nodes
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Add)
    ]
    return any(
        isinstance(pointer, ast.Name) and pointer.id in parameters and _product(offset, named)
        for pointer, offset in added
    )


def _product(node: ast.expr, named: dict[str, ast.expr]) -> bool:
    """Whether a 32-bit product of the program's number is one of the terms or factors of ``node``."""
    node, named = _meant(node, named)
    if isinstance(node, ast.Subscript):
        return _product(node.value, named)
    if not isinstance(node, ast.BinOp):
        return False
    sides = (node.left, node.right)
    multiplied = isinstance(node.op, ast.Mult) and any(_is_program(*_meant(side, named)) for side in sides)
    return multiplied or any(_product(side, named) for side in sides)


def _is_program(node: ast.expr, _named: dict[str, ast.expr]) -> bool:
    return (
        isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") == "program_id"
        and [getattr(axis, "value", None) for axis in node.args] == [0]
    )


def _meant(node: ast.expr, named: dict[str, ast.expr]) -> tuple[ast.expr, dict[str, ast.expr]]:
    """What a name stands for, if the kernel gives it a value, and the names that are left to look up."""
    if not isinstance(node, ast.Name) or node.id not in named:
        return node, named
    return _meant(named[node.id], {name: value for name, value in named.items() if name != node.id})
