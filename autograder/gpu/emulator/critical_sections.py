"""Critical sections of kernels, rewritten so that programs that run together come to a lock in turn.

while tl.atomic_cas(lock, 0, 1) == 1:      _turns7 = interpreter_semantic.turns(lock)
    pass                                   for _turn7 in _turns7:
total = tl.load(x) + y                         while tl.atomic_cas(lock, 0, 1) == 1:
tl.store(x, total)                                 pass
tl.atomic_xchg(lock, 0)                        total = tl.load(x) + y
                                               tl.store(x, total)
                                               tl.atomic_xchg(lock, 0)

`lockstep_text` has only those programs run a round whose turn it is. The rounds are no loop of the kernel's.
"""

import ast

from .liveness import is_straight

_PLAIN = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Attribute, ast.operator, ast.unaryop, ast.expr_context)


def with_turns(tree: ast.Module) -> ast.Module:
    """A function whose critical sections are run in turn: from a loop that does nothing but wait for an atomic on a
    word to the last atomic on it in the same block of statements.
    """
    _Sections().visit(tree)
    return tree


def is_in_turn(node: ast.For) -> bool:
    """Returns whether a loop is one over the turns of a critical section."""
    return isinstance(node.iter, ast.Name) and node.iter.id.startswith("_turns")


class _Sections(ast.NodeVisitor):
    def generic_visit(self, node: ast.AST) -> None:
        super().generic_visit(node)
        for field in ("body", "orelse"):
            if isinstance(block := getattr(node, field, None), list):
                setattr(node, field, _in_turn(block))


def waits(body: list[ast.stmt]) -> bool:
    """Returns whether a block has a loop that goes on until an atomic says otherwise."""
    loops = (part for node in body for part in ast.walk(node) if isinstance(part, ast.While))
    return any(isinstance(part, ast.Call) and _is_atomic(part) for loop in loops for part in ast.walk(loop.test))


def _in_turn(body: list[ast.stmt]) -> list[ast.stmt]:
    for first, node in enumerate(body):
        words = {ast.dump(word): word for word in _awaited(node)}
        lock = next(iter(words.values())) if len(words) == 1 else None
        after = [number for number in range(first + 1, len(body)) if words.keys() & _released(body[number])]
        if lock is None or not after or not is_straight(body[first : after[-1] + 1]):
            continue
        section = [node, *_in_turn(body[first + 1 : after[-1]]), body[after[-1]]]
        number = f"{node.lineno}_{node.col_offset}"
        turns, turn = f"_turns{number}", f"_turn{number}"
        semantic = ast.Name("interpreter_semantic", ast.Load())
        call = ast.Call(ast.Attribute(semantic, "turns", ast.Load()), [lock], [])
        statements: list[ast.stmt] = [
            ast.Assign([ast.Name(turns, ast.Store())], call),
            ast.For(ast.Name(turn, ast.Store()), ast.Name(turns, ast.Load()), section, []),
        ]
        statements = [ast.fix_missing_locations(ast.copy_location(statement, node)) for statement in statements]
        return [*body[:first], *statements, *_in_turn(body[after[-1] + 1 :])]
    return body


def _awaited(node: ast.stmt) -> list[ast.expr]:
    """The words for which a loop waits that does nothing else. They are computed once more before it: where a
    condition decides whether they are, they may be of no tensor.
    """
    if not isinstance(node, ast.While) or node.orelse or not all(isinstance(part, ast.Pass) for part in node.body):
        return []
    if any(isinstance(part, ast.BoolOp | ast.IfExp) for part in ast.walk(node.test)):
        return []
    return _words(node.test)


def _released(node: ast.stmt) -> set[str]:
    """The words of the atomics that are statements, in a statement."""
    statements = (part for part in ast.walk(node) if isinstance(part, ast.Expr))
    return {ast.dump(word) for statement in statements for word in _words(statement)}


def _words(node: ast.AST) -> list[ast.expr]:
    """The pointers of atomics, where they are computed from variables alone."""
    pointers = [part.args[0] for part in ast.walk(node) if isinstance(part, ast.Call) and _is_atomic(part)]
    return [pointer for pointer in pointers if all(isinstance(part, _PLAIN) for part in ast.walk(pointer))]


def _is_atomic(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return name.startswith("atomic_") and bool(call.args)
