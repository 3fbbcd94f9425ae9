"""Triton's own interpreter and nothing more: a program is found to be wrong where it raises or its process dies."""

import contextlib
from collections.abc import Iterator

import torch
from graded_kernels.autograder.gpu import shimmed
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

from ..row import Row
from ..said import Said
from ..subject import NOT_HERE, Cannot, subject

CRASH_IS_FOUND = True


def refuse(text: str) -> None:
    raise Cannot(text)


@contextlib.contextmanager
def plain_on_a_stand_in() -> Iterator[None]:
    """Where there is no CUDA, the stand-in that `sanitize` has; kernels are launched as Triton launches them."""
    if torch.cuda.is_available():
        yield
        return
    runs = JITFunction.run, InterpretedFunction.run
    with shimmed(refuse):
        JITFunction.run, InterpretedFunction.run = runs
        yield


def refuses(row: Row) -> str:
    return "launches no Triton kernel" if row.backend == "torch" else ""


def check(row: Row) -> Said:
    one = subject(row)
    with plain_on_a_stand_in() if one.shim else contextlib.nullcontext():
        try:
            one.launch()
        except Cannot:
            raise
        except NOT_HERE as error:
            raise Cannot(f"not run: what it needs is not here: {str(error)[:200]}") from None
        except SystemExit:
            pass
        except Exception as error:
            return Said(row.name, True, says=f"raises {type(error).__name__}: {' '.join(str(error).split())[:200]}")
    return Said(row.name)
