"""The Triton answers, as a library of differentiable functions: ``from graded_kernels.kernels import silu``.

A function is one of them by the name of its file: ``silu`` of silu.py, beside ``silu_forward``, or of silu_function.py.
``__init__.pyi`` says the same to type checkers and editors; ``make build`` writes it.
"""

import importlib
import pkgutil
from collections.abc import Callable
from types import ModuleType
from typing import Any


def _public_name(module: ModuleType) -> str:
    """The name of the module's differentiable function, or ""."""
    stem = module.__name__.rpartition(".")[2]
    name = stem.removesuffix("_function")
    return name if hasattr(module, name) and (stem != name or hasattr(module, f"{name}_forward")) else ""


def _public_functions() -> dict[str, Callable[..., Any]]:
    """By name, after the import of all modules: each one that is imported takes its name in this package."""
    found = [one.name for one in pkgutil.iter_modules(__path__) if not one.ispkg]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in found]
    return {name: vars(module)[name] for module in modules if (name := _public_name(module))}


globals().update(_public_functions())
__all__ = sorted(_public_functions())
