"""The functions of Triton's language in the modules of a program that lie in the current folder, launched or not."""

import sys
import types
from collections.abc import Iterator
from pathlib import Path

from triton.runtime.interpreter import InterpretedFunction

from .location import is_own


def own_kernels() -> Iterator[types.FunctionType]:
    """Each function once: the Python under `triton.jit`, autotuners and heuristics around it taken off."""
    seen: set[types.CodeType] = set()
    for module in list(sys.modules.values()):
        for value in list(vars(module).values()) if is_own(getattr(module, "__file__", None) or "/") else ():
            while not isinstance(value, InterpretedFunction) and type(value).__module__.startswith("triton."):
                value = getattr(value, "fn", None)
            if isinstance(value, InterpretedFunction) and value.fn.__code__ not in seen:
                code = value.fn.__code__
                seen.add(code)
                if is_own(code.co_filename) and Path(code.co_filename).is_file():  # no text that was executed
                    yield value.fn
