"""Says which variables of a kernel are read later: for each loop and branch, those that outlive it and those that it
needs.

A name that is not read again before it is stored to need not be kept for a program that waits, and must not be: it may
hold what other programs computed.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass

_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Pass, ast.Assert)
_SCOPES = (ast.NamedExpr, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Await, ast.Yield)


@dataclass(frozen=True)
class LoopNames:
    """Variables of a loop. kept: stored to in it, read behind it. used: live where a round begins, and in the loop."""

    kept: frozenset[str]
    used: frozenset[str]


@dataclass(frozen=True)
class BranchNames:
    """Variables of an ``if``. kept: stored to by a side and read behind both.

    first_stored, second_stored: stored to by a side. first_used, second_used: live where a side begins, and in it.
    restored: stored to by the first side, live where the second begins.
    """

    kept: frozenset[str]
    first_stored: frozenset[str]
    second_stored: frozenset[str]
    first_used: frozenset[str]
    second_used: frozenset[str]
    restored: frozenset[str]


LiveNames = dict[ast.stmt, LoopNames | BranchNames]


def names_of(tree: ast.Module) -> LiveNames:
    """The variables of each loop and ``if`` of a function that is left at its end alone, and stores in variables alone:
    its programs can wait for each other.
    """
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef)
    arguments = definition.args
    parameters = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    liveness = _Liveness({parameter.arg for parameter in parameters} | _stored(definition.body))
    liveness.block(definition.body, set())
    return liveness.names


class _Liveness:
    """Backward through the statements. local: the function's variables."""

    def __init__(self, local: set[str]) -> None:
        self.names: LiveNames = {}
        self._local = local
        self._loops: list[tuple[set[str], set[str]]] = []  # of each loop around: live behind it, and at its head

    def block(self, body: list[ast.stmt], after: set[str]) -> set[str]:
        """The names live before some statements. after: those live behind them."""
        for node in reversed(body):
            after = self._before(node, after)
        return after

    def _before(self, node: ast.stmt, after: set[str]) -> set[str]:
        match node:
            case ast.Return():
                return _read(node)
            case ast.Break():
                return set(self._loops[-1][0])
            case ast.Continue():
                return set(self._loops[-1][1])
            case ast.If():
                return self._branch(node, after)
            case ast.For() | ast.While():
                return self._loop(node, after)
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                return (after - _stored([node])) | _read(node)
            case _:
                return after | _read(node)

    def _branch(self, node: ast.If, after: set[str]) -> set[str]:
        first, second = self.block(node.body, after), self.block(node.orelse, after)
        if is_straight(node.body) and is_straight(node.orelse):
            first_stored, second_stored = _stored(node.body), _stored(node.orelse)
            self.names[node] = BranchNames(
                kept=frozenset((first_stored | second_stored) & after),
                first_stored=frozenset(first_stored),
                second_stored=frozenset(second_stored),
                first_used=frozenset(self._local & first & (_read(*node.body) | first_stored)),
                second_used=frozenset(self._local & second & (_read(*node.orelse) | second_stored)),
                restored=frozenset(first_stored & second),
            )
        return first | second | _read(node.test)

    def _loop(self, node: ast.For | ast.While, after: set[str]) -> set[str]:
        """A loop's head is live in what its body needs, and its body in what its head needs: until nothing is added."""
        if isinstance(node, ast.For):
            first, again, targets = _read(node.iter), set[str](), _names(node.target, ast.Store)
        else:
            first = again = _read(node.test)
            targets = set()
        head, more = self.block(node.orelse, after) | again, True
        while more:
            self._loops.append((after, head))
            before = self.block(node.body, head) - targets
            self._loops.pop()
            more, head = not before <= head, head | before
        if not node.orelse and is_straight(node.body):
            stored = _stored(node.body) | targets
            used = self._local & head & (_read(*node.body) | stored | again)
            self.names[node] = LoopNames(kept=frozenset(stored & after), used=frozenset(used - targets))
        return head | first


def is_straight(body: list[ast.stmt]) -> bool:
    """Returns whether a block is left at its end alone, and stores in variables alone."""
    inside = [part for node in body for part in ast.walk(node)]
    if any(isinstance(part, _SCOPES) or _stores_in_object(part) for part in inside):
        return False
    return all(_left_at_its_end(node, in_loop=False) for node in body)


def _left_at_its_end(node: ast.stmt, in_loop: bool) -> bool:
    if isinstance(node, ast.For | ast.While | ast.If):
        within = in_loop or not isinstance(node, ast.If)
        return all(_left_at_its_end(child, within) for child in (*node.body, *node.orelse))
    return isinstance(node, _SIMPLE) or (in_loop and isinstance(node, ast.Break | ast.Continue))


def _stores_in_object(part: ast.AST) -> bool:
    return isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store | ast.Del)


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name) and isinstance(child.ctx, context)}


def _stored(body: Iterable[ast.AST]) -> set[str]:
    return set().union(*(_names(node, ast.Store) for node in body))


def _read(*nodes: ast.AST) -> set[str]:
    """The names that some nodes read; ``x += 1`` reads x."""
    read = set().union(*(_names(node, ast.Load) for node in nodes))
    sums = (part for node in nodes for part in ast.walk(node) if isinstance(part, ast.AugAssign))
    return read.union(*(_names(part.target, ast.Store) for part in sums))
