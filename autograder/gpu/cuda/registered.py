"""Says what a program registers for operators on a GPU, with `torch.library.Library.impl(name, function, "CUDA")`.

Its tensors lie on the CPU, where PyTorch would not call it: `placement` does.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from torch.library import Library

from ..borrowed import library_destroy, library_triton

_RegisteredFunction = Callable[..., Any]
_functions: dict[str, list[tuple[Library, _RegisteredFunction]]] = {}
_register: _RegisteredFunction = Library.impl
_destroy: _RegisteredFunction = library_destroy


def of(operator: Any) -> _RegisteredFunction | None:
    """The function registered last for the operator, an overload of it; None where there is none."""
    functions = _functions.get(operator.name()) if _functions else None
    return functions[-1][1] if functions else None


def _registered(
    library: Library, name: Any, function: _RegisteredFunction, dispatch_key: str = "", **options: Any
) -> None:
    _register(library, name, function, dispatch_key, **options)
    if (dispatch_key or library.dispatch_key) == "CUDA":
        text = name if isinstance(name, str) else name.name()
        text = text if "::" in text else f"{library.ns}::{text}"
        _functions.setdefault(text.removesuffix(".default"), []).append((library, function))


def _destroyed(library: Library) -> None:
    for name, functions in [*_functions.items()]:
        _functions[name] = [entry for entry in functions if entry[0] is not library]
        if not _functions[name]:
            del _functions[name]
    _destroy(library)


def replacements(tracing: Callable[[], bool]) -> list[tuple[Any, str, Any]]:
    """Yields what has the attribute, its name, and what it becomes. tracing: whether a compiler traces now, for which
    alone `torch.library.wrap_triton` makes an operator of a kernel.
    """
    wraps: Callable[[], bool] = library_triton.is_wrap_triton_enabled

    @contextlib.contextmanager
    def set_enabled(enabled: bool) -> Iterator[None]:
        """PyTorch's own would keep what is said outside of a trace, and no later trace would have its operators."""
        before = wraps()
        library_triton.wrap_triton_enabled.value = enabled
        try:
            yield
        finally:
            library_triton.wrap_triton_enabled.value = before

    return [
        (Library, "impl", _registered),
        (Library, "_destroy", _destroyed),
        (library_triton, "is_wrap_triton_enabled", lambda: tracing() and wraps()),
        (library_triton, "set_wrap_triton_enabled", set_enabled),
    ]
