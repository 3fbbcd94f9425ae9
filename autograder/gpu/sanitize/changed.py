"""Says which kernels have changed since a revision in git: their own text, or that of a function they call."""

import inspect
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from triton.runtime.interpreter import InterpretedFunction

from . import revision as git


class Changed:
    """Compares kernels with their files at ``revision``. A file that git does not look after, such as an installed
    library, has not changed; a new one has.
    """

    def __init__(self, revision: str):
        self.revision = revision
        self._known: dict[types.FunctionType, bool] = {}

    def __call__(self, kernel: types.FunctionType, arguments: Iterable[Any] = ()) -> bool:
        """Returns whether a kernel has changed, or a function that it calls or is given as an argument."""
        given = [value.fn for value in arguments if isinstance(value, InterpretedFunction)]
        return any(self._has(fn) for one in (kernel, *given) for fn in reachable(one))

    def _has(self, fn: types.FunctionType) -> bool:
        if fn not in self._known:
            self._known[fn] = self._differs(fn)
        return self._known[fn]

    def _differs(self, fn: types.FunctionType) -> bool:
        file = Path(fn.__code__.co_filename).resolve()
        if git.toplevel(file.parent) is None:
            return False
        then = git.text_at(file, self.revision)
        if then is None:
            return not git.ignored(file)
        return git.plain("".join(inspect.getsourcelines(fn)[0])) not in git.functions_of(then)


def reachable(kernel: types.FunctionType) -> Iterator[types.FunctionType]:
    """A kernel, and every function of Triton's language that it can call by a name."""
    seen, todo = {kernel}, [kernel]
    while todo:
        fn = todo.pop()
        yield fn
        for value in _named(fn):
            if isinstance(value, InterpretedFunction) and value.fn not in seen:
                seen.add(value.fn)
                todo.append(value.fn)


def _named(fn: types.FunctionType) -> Iterator[Any]:
    names = list(_names(fn.__code__))
    closure = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    values = [fn.__globals__.get(name) for name in names]
    values += [cell.cell_contents for name, cell in closure.items() if name in names]
    yield from values
    for module in values:
        if isinstance(module, types.ModuleType) and not module.__name__.startswith("triton"):
            yield from (vars(module).get(name) for name in names)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_freevars)
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _names(part)
