"""Says how Triton kernels run in this process: on a GPU if there is one, else in Triton's interpreter.

Imported before triton wherever the grader is used: ``TRITON_INTERPRET`` counts only until triton's first import.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from importlib.util import find_spec
from types import ModuleType
from typing import Any

# How the names of devices begin in /dev that PyTorch may call CUDA: NVIDIA's, Tegra's, those of WSL, and AMD's.
DEVICES = ("nvidia", "nvhost", "nvgpu", "nvmap", "tegra", "dxg", "kfd")

WITHOUT_TRITON = (
    "Triton is not installed: it has packages for Linux alone. Kernels run there, in WSL2, in the course's container "
    "and in Colab; what is written with PyTorch is checked here."
)


def has_gpu() -> bool:
    """Says whether PyTorch finds a GPU. Where there is no device file it is not imported, which would take seconds."""
    if "torch" not in sys.modules and sys.platform == "linux":
        if not any(name.startswith(DEVICES) for name in os.listdir("/dev")):
            return False
    import torch

    return torch.cuda.is_available()


def choose_interpreter() -> None:
    """Asks for the interpreter where there is no GPU, unless the environment says otherwise already.

    Raises ImportError where triton was imported before it was asked for: its own functions are compiled there.
    """
    if "TRITON_INTERPRET" not in os.environ and not has_gpu():
        os.environ["TRITON_INTERPRET"] = "1"
    if interpreted() and "triton" in sys.modules:
        from triton import language
        from triton.runtime.interpreter import InterpretedFunction

        if not isinstance(language.sum, InterpretedFunction):
            raise ImportError(
                "triton was imported before graded_kernels.autograder, and there is no GPU. Restart Python (in a "
                "notebook, the kernel) and import graded_kernels.autograder first, or set TRITON_INTERPRET=1 in the "
                "environment."
            )


_hidden = False


def interpreted() -> bool:
    """Returns whether Triton's kernels are interpreted in this process."""
    return _hidden or os.environ.get("TRITON_INTERPRET") == "1"


@contextmanager
def hidden() -> Iterator[None]:
    """Kernels are interpreted in the block, and neither the environment nor Triton's settings nor the name of a
    kernel's class says so.
    """
    from triton import knobs
    from triton.runtime import autotuner, jit
    from triton.runtime.interpreter import InterpretedFunction

    global _hidden
    if _hidden:
        yield
        return
    runtime, known = copy(knobs.runtime), ModuleType(knobs.__name__)
    vars(runtime)["interpret"] = True
    vars(known).update(vars(knobs) | {"runtime": runtime})
    readers = vars(jit), vars(autotuner)  # of the setting; programs read it in `triton.knobs`
    before, _hidden = os.environ.pop("TRITON_INTERPRET", None), True
    for names in readers:
        names["knobs"] = known
    class_names = _class_names(InterpretedFunction)
    _name_class(InterpretedFunction, *_class_names(jit.JITFunction))
    try:
        yield
    finally:
        _hidden = False
        _name_class(InterpretedFunction, *class_names)
        if before is not None:
            os.environ["TRITON_INTERPRET"] = before
        for names in readers:
            names["knobs"] = knobs


def _class_names(kind: type) -> tuple[str, str, str]:
    return kind.__name__, kind.__qualname__, kind.__module__


def _name_class(kind: type, name: str, qualified: str, module: str) -> None:
    kind.__name__, kind.__qualname__, kind.__module__ = name, qualified, module


class NotRun(RuntimeError):
    """A kernel cannot run in this process; the message says where it can."""

    def _render_traceback_(self) -> list[str]:  # asked for by IPython, in place of the frames
        return [f"not run: {self}"]


def ensure_runnable(backend: str) -> None:
    """Raises NotRun where an answer of ``backend`` cannot run in this process."""
    if backend == "triton" and mode() == "no triton":
        raise NotRun(WITHOUT_TRITON)
    if backend == "triton" and not interpreted() and not has_gpu():
        raise NotRun("TRITON_INTERPRET turns the interpreter off, and there is no GPU: unset it and restart.")


def mode() -> str:
    """``emulator``, ``device`` or ``no triton``."""
    if "triton" not in sys.modules and find_spec("triton") is None:
        return "no triton"
    return "emulator" if interpreted() else "device"


def simulation() -> AbstractContextManager[Any]:
    """The emulator where kernels are interpreted; else nothing: a GPU runs them, or nobody does."""
    if mode() != "emulator":
        return nullcontext()
    from .emulator import Emulator

    return Emulator()
