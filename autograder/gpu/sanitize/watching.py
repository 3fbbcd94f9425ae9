"""Everything that watches a program, as one ``with`` block: for the command and for the pytest plugin."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn
from unittest.mock import patch

import torch

from ..compiler import KernelLaunch
from ..compiler.on_demand import CompiledCode, code_of
from ..cuda import assert_reachable, graphs, shimmed, streams
from ..devices import DEFAULT, Properties
from ..emulator import EmulatorError, Observed
from .changed import Changed
from .configurations import Configurations
from .exports import watched_exports
from .launch_forms import Forms
from .sanitizer import Sanitizer
from .subprocesses import unreported
from .uninitialised import UninitialisedMemory


@dataclass(frozen=True)
class ProgramWatch:
    """Holds what watches a program. emulator: where its launches run. gpu: the one that is simulated for it.
    unlike_gpu: as `Simulated` has it, so far.
    """

    sanitizer: Sanitizer
    emulator: Observed
    gpu: Properties | None = None
    unlike_gpu: dict[str, None] = field(default_factory=dict)

    @property
    def shim(self) -> str:
        """Returns what a report calls the simulated GPU, "" for none."""
        return self.gpu.title if self.gpu else ""


def _code_of(launch: KernelLaunch, architecture: int, places: dict[str, tuple[str, int]]) -> CompiledCode:
    with unreported():
        return code_of(launch, architecture, places)


@contextlib.contextmanager
def watched(
    emit: Callable[[dict[str, Any]], None],
    shim: bool = True,
    device: str = DEFAULT,
    since: str = "",
    known: Callable[[dict[str, Any]], bool] | None = None,
    ask: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None,
) -> Iterator[ProgramWatch]:
    """Runs what is in the block under a `Sanitizer`. shim: whether to simulate a GPU where there is no CUDA. device:
    which one, a key of `DEVICES`. since: the revision in git since which a kernel has to have changed to be judged.
    known, ask: as `Sanitizer` has them.
    """
    sanitizer = Sanitizer(emit, Changed(since) if since else None, known, Forms(), ask)
    sanitizer.trials = Configurations()
    emulator = Observed(sanitizer, fill=0.0)
    watch = ProgramWatch(sanitizer, emulator)
    uninitialised = UninitialisedMemory(sanitizer, emulator)
    with emulator, uninitialised, contextlib.ExitStack() as stack:
        stack.enter_context(watched_exports(sanitizer, emulator))
        stack.enter_context(sanitizer.saved_tensors.watched())
        if shim and not torch.cuda.is_available():
            watches: dict[str, Any] = {"within": sanitizer.declared.within, "freed": sanitizer.freed}
            simulated = stack.enter_context(shimmed(sanitizer.refuse, device, _code_of, sanitizer.warmed_up, **watches))
            sanitizer.waits, sanitizer.origins = graphs.forbid, simulated.origins
            sanitizer.streams, sanitizer.assert_reachable = streams, assert_reachable
            watch = ProgramWatch(sanitizer, emulator, simulated.gpu, simulated.unlike_gpu)
        elif torch.cuda.is_available():
            stack.enter_context(patch.object(torch, "compile", _uncompiled(sanitizer.refuse)))
        yield watch


def _uncompiled(refuse: Callable[[str], NoReturn]) -> Callable[..., Any]:
    """Stands for `torch.compile` beside a real GPU: the function stays as it is, and a sentence says so."""

    def compiled(model: Any = None, **options: Any) -> Any:
        with contextlib.suppress(EmulatorError):
            refuse(
                "What `torch.compile` generates is judged on a simulated GPU alone: hide the real one by "
                "`CUDA_VISIBLE_DEVICES=` in the environment."
            )
        return (lambda decorated: decorated) if model is None else model

    return compiled
