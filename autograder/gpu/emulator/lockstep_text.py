"""A kernel's text, so that programs stay together where a loop or an ``if`` hangs on a number that each has of its own.

``for x in range(a, b)`` and ``while`` become

    _lockstep7 = interpreter_semantic.lockstep_loop(kept, used)
    for x in _lockstep7.over(range, a, b):       # while _lockstep7.goes_on(condition):
        if _lockstep7.moved: ...                 # some programs go on without the others' rows
        (the body)
        if _lockstep7.parted: ...                # programs that have ended keep what their variables held
    if _lockstep7.moved: ...

and ``if condition`` becomes

    _lockstep7 = interpreter_semantic.lockstep_branch(kept, ...)
    if _lockstep7.first(condition):
        if _lockstep7.moved: ...
        (the body)
    if _lockstep7.second():
        if _lockstep7.moved: ...
        (the other body)
    if _lockstep7.parted: ...

and ``x if condition else y``

    (_lockstep7 := interpreter_semantic.lockstep_choice(condition)).joined(
        x if _lockstep7.first() else None, y if _lockstep7.second() else None
    )

What a function returns from one of two sides goes through ``_lockstep7.known``: a number is a tensor behind a condition
that is known when the kernel runs.

`grid.lockstep` says what happens there; where all programs agree, nothing does. What leaves a loop or a function half
way (``break``, ``continue``, a kernel's ``return``) stays as it is: there programs part for good. For ``...`` stands,
for each variable, ``if "acc" in _lockstep7.new: acc = _lockstep7.new["acc"]``. It is deleted where only some of the
programs have it, so that reading it fails as it does in a program that does not have it.
"""

import ast
import dataclasses
from collections.abc import Iterable
from typing import Any

from .critical_sections import is_in_turn, waits
from .liveness import BranchNames, LiveNames, LoopNames
from .single_exit import RESULT


class Lockstep(ast.NodeTransformer):
    """Rewrites the loops and branches of which the names are known."""

    def __init__(self, names: LiveNames):
        self._names = names

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        """A loop over ``interpreter_semantic.counted(range, a, b)``."""
        self.generic_visit(node)
        names = self._names.get(node)
        if isinstance(names, LoopNames) and isinstance(node.target, ast.Name) and is_in_turn(node):
            return _turn(node, node.target.id, names)
        if not isinstance(names, LoopNames) or not isinstance(node.iter, ast.Call):
            return node
        node.iter.func = _attribute(_name_of(node), "over")
        return _loop(node, names)

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt]:
        """A loop on a condition."""
        self.generic_visit(node)
        names = self._names.get(node)
        if not isinstance(names, LoopNames):
            return node
        node.test = _method(_name_of(node), "goes_on", node.test)
        return _loop(node, names)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """A branch."""
        self.generic_visit(node)
        names = self._names.get(node)
        return _branch(node, names, _name_of(node)) if isinstance(names, BranchNames) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """A choice."""
        self.generic_visit(node)
        it = _name_of(node)
        built = ast.NamedExpr(ast.Name(it, ast.Store()), _method("interpreter_semantic", "lockstep_choice", node.test))
        first = ast.IfExp(_method(it, "first"), node.body, ast.Constant(None))
        second = ast.IfExp(_method(it, "second"), node.orelse, ast.Constant(None))
        joined = ast.Call(ast.Attribute(built, "joined", ast.Load()), [first, second], [])
        _place(joined, node)
        return joined

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """As it is: what a comprehension runs over cannot hold an assignment."""
        return node


def _loop(node: ast.For | ast.While, names: LoopNames) -> list[ast.stmt]:
    it = _name_of(node)
    node.body = [_taken(it, "moved", names.used), *node.body, _merged(it, names.kept)]
    return _placed(node, [_region(it, "lockstep_loop", names), node, _taken(it, "moved", names.kept | names.used)])


def _branch(node: ast.If, names: BranchNames, it: str) -> list[ast.stmt]:
    if node.orelse and waits(node.body) and not waits(node.orelse):
        node, names = _other_first(node, names)
    if RESULT in names.kept:
        for side in filter(None, (node.body, node.orelse)):
            known = _method(it, "known", ast.Name(RESULT, ast.Load()))
            side.append(ast.Assign([ast.Name(RESULT, ast.Store())], known))
    first = [_taken(it, "moved", names.first_used), *node.body]
    built: list[ast.stmt] = [
        _region(it, "lockstep_branch", names),
        ast.If(_method(it, "first", node.test), first, []),
    ]
    if node.orelse:
        second = [_taken(it, "moved", names.restored | names.second_used), *node.orelse]
        built.append(ast.If(_method(it, "second"), second, []))
    built.append(_merged(it, names.kept | names.first_used | names.second_used))
    return _placed(node, built)


def _other_first(node: ast.If, names: BranchNames) -> tuple[ast.If, BranchNames]:
    """The second side first: the first one may wait for what programs do there."""
    test = _method("interpreter_semantic", "logical_not", node.test)
    of_both = BranchNames(
        names.kept,
        names.second_stored,
        names.first_stored,
        names.second_used,
        names.first_used,
        names.second_stored & names.first_used,
    )
    return ast.copy_location(ast.If(test, node.orelse, node.body), node), of_both


def _turn(node: ast.For, turn: str, names: LoopNames) -> ast.For:
    """A round is a branch that those take whose turn it is."""
    nothing = frozenset[str]()
    of_branch = BranchNames(names.kept, names.kept, nothing, names.used, nothing, nothing)
    branch = ast.copy_location(ast.If(ast.Name(turn, ast.Load()), node.body, []), node)
    node.body = _branch(branch, of_branch, f"_lockstep{turn}")
    return node


def _name_of(node: ast.stmt | ast.IfExp) -> str:
    return f"_lockstep{node.lineno}_{node.col_offset}"


def _region(it: str, kind: str, names: LoopNames | BranchNames) -> ast.stmt:
    words = []
    for field in dataclasses.fields(names):
        constant: Any = tuple(sorted(getattr(names, field.name)))
        words.append(ast.keyword(field.name, ast.Constant(constant)))
    return ast.Assign([ast.Name(it, ast.Store())], ast.Call(_attribute("interpreter_semantic", kind), [], words))


def _merged(it: str, names: Iterable[str]) -> ast.stmt:
    """``if it.parted: it.merge()``, then the variables."""
    merge = _taken(it, "parted", names)
    merge.body.insert(0, ast.Expr(_method(it, "merge")))
    return merge


def _taken(it: str, when: str, names: Iterable[str]) -> ast.If:
    """``if it.when:``, then each variable ``if "x" in it.new: x = it.new["x"]``, or ``elif "x" in it.gone: del x``."""
    built: list[ast.stmt] = [ast.Pass()]
    for name in sorted(names):
        have, gone = (ast.Compare(ast.Constant(name), [ast.In()], [_attribute(it, where)]) for where in ("new", "gone"))
        value = ast.Subscript(_attribute(it, "new"), ast.Constant(name), ast.Load())
        drop = ast.If(gone, [ast.Delete([ast.Name(name, ast.Del())])], [])
        built.append(ast.If(have, [ast.Assign([ast.Name(name, ast.Store())], value)], [drop]))
    return ast.If(_attribute(it, when), built, [])


def _attribute(it: str, name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name(it, ast.Load()), name, ast.Load())


def _method(it: str, name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(_attribute(it, name), list(arguments), [])


def _placed(node: ast.stmt, built: list[ast.stmt]) -> list[ast.stmt]:
    """Gives what was made the first line of what it was made of, as its last line, too: findings name the last line."""
    for statement in built:
        _place(statement, node)
    return built


def _place(built: ast.AST, node: ast.stmt | ast.IfExp) -> None:
    if built is not node and hasattr(built, "lineno"):
        return
    if built is not node and isinstance(built, ast.stmt | ast.expr):
        built.lineno = built.end_lineno = node.lineno
        built.col_offset = built.end_col_offset = node.col_offset
    for part in ast.iter_child_nodes(built):
        _place(part, node)
