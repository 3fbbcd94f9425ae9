"""A kernel's text rewritten and made into a function again: it sees the names the original sees, and none of the
interpreter's.

Triton's own interpreter copies its module's names (``np``, ``tl``, ``inspect``, ...) into the learner's module, so that
a forgotten import goes unseen, and it loses the variables of an enclosing function. It also reads the source three
times over. An answer is rewritten anew in each of its processes, where that took half of the time.
"""

import ast
import inspect
import linecache
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import triton
import triton.language as tl
from triton.runtime import interpreter

from . import builtin_functions
from .critical_sections import with_turns
from .findings import EmulatorError, Finding
from .liveness import names_of
from .lockstep_text import Lockstep
from .single_exit import with_single_exit

_TRITON = str(Path(triton.__file__).parent)
Mark = Callable[[types.FunctionType, ast.Module], ast.Module]


def rewritten(rewriter: Any, mark: Mark | None = None) -> types.FunctionType:
    """The function that runs in place of the rewriter's. It stands for Triton's `FunctionRewriter.rewrite_ast`. mark:
    is given the tree first, as `coverage.mark`; a function without source, which has no tree, then runs as it is, as in
    Triton's interpreter.
    """
    if mark and not has_source(rewriter.fn):
        return cast(types.FunctionType, rewriter.fn)
    tree, names = syntax(rewriter.fn), {}
    if not rewriter.fn.__code__.co_filename.startswith(_TRITON):
        names = names_of(with_turns(with_single_exit(tree)))
    strict = rewriter.ast_transformer.visit(mark(rewriter.fn, tree) if mark else tree)
    return _function(rewriter.fn, Lockstep(names).visit(strict))


def early_returns(fn: types.FunctionType) -> tuple[int, ...]:
    """The lines of a kernel at which a program may end before the last line is reached."""
    if not has_source(fn):
        return ()
    (definition,) = syntax(fn).body
    inner = (node for node in ast.walk(definition) if isinstance(node, ast.Return))
    return tuple(sorted(node.lineno for node in inner if node is not cast(ast.FunctionDef, definition).body[-1]))


def syntax(fn: types.FunctionType) -> ast.Module:
    """The syntax of a function without its decorators; every line has the number it has in its file."""
    lines, first = _source(fn)
    above = next((number for number, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)  # decorators
    return ast.parse("\n" * (first + above - 1) + textwrap.dedent("".join(lines[above:])))


def _function(fn: types.FunctionType, tree: ast.Module) -> types.FunctionType:
    """The function of a transformed tree, with the original's globals, enclosing variables and defaults."""
    free = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    known = _names(fn.__code__)
    ours = {name: value for name, value in _OURS.items() if name not in free and name not in fn.__globals__}
    ours |= builtin_functions.unknown(known - free.keys() - fn.__globals__.keys())
    added = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - known
    ours |= {name: vars(interpreter)[name] for name in sorted(added & vars(interpreter).keys())}
    names = [*free, *ours]
    (only,) = tree.body
    definition = cast(ast.FunctionDef, only)
    _strip(definition.args)
    definition.returns = None
    module = ast.parse(f"def enclosing({', '.join(names)}): pass")
    cast(ast.FunctionDef, module.body[0]).body = [definition, ast.Return(ast.Name(fn.__name__, ast.Load()))]
    space: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(module), fn.__code__.co_filename, "exec"), fn.__globals__, space)
    inner = space["enclosing"](*[None] * len(free), *ours.values())
    cells = dict(zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True)) | free
    closure = tuple(cells[name] for name in inner.__code__.co_freevars)
    result = types.FunctionType(inner.__code__, fn.__globals__, fn.__name__, fn.__defaults__, closure)
    result.__kwdefaults__ = fn.__kwdefaults__
    result.__annotations__ = {name: _annotation(kind) for name, kind in fn.__annotations__.items()}
    return result


def _names(code: types.CodeType) -> set[str]:
    """Every name that a function's code, and the code inside it, refers to."""
    inner = (_names(part) for part in code.co_consts if isinstance(part, types.CodeType))
    return {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}.union(*inner)


def _source(fn: types.FunctionType) -> tuple[list[str], int]:
    """Lines, and the number of the first one. Refuses a function without source, as the compiler does."""
    if not has_source(fn):
        text = (
            f"Triton compiles a kernel from its source, and finds none for `{fn.__name__}`: write it in a "
            "file or a notebook cell, not in a string."
        )
        raise EmulatorError(Finding("unsupported", text, fn.__name__))
    return inspect.getsourcelines(fn)


def has_source(fn: types.FunctionType) -> bool:
    """Returns whether a function's text is known: that of one which was made by `exec` is not."""
    return bool(linecache.getlines(inspect.unwrap(fn).__code__.co_filename))


def _strip(arguments: ast.arguments) -> None:
    """Defaults and annotations are the original's, already evaluated."""
    arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = None


def _annotation(kind: Any) -> Any:
    """``from __future__ import annotations`` leaves strings; Triton looks for the word in them."""
    return tl.constexpr if isinstance(kind, str) and "constexpr" in kind else kind


def _extreme(builtin: Callable[..., Any], block: str) -> Callable[..., Any]:
    """Python's ``min`` and ``max``, which the compiler reads as `tl.minimum` and `tl.maximum` on tensors."""

    def choose(*values: Any) -> Any:
        return getattr(tl, block)(*values) if any(isinstance(v, tl.tensor) for v in values) else builtin(*values)

    return choose


def _print(*values: Any, **options: Any) -> None:
    interpreter.interpreter_builder.print(*values, **options)


MINIMUM, MAXIMUM = _extreme(min, "minimum"), _extreme(max, "maximum")
_OURS = {"min": MINIMUM, "max": MAXIMUM, "print": _print}
