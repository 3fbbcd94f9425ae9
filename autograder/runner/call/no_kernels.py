"""The machine of a PyTorch answer: no kernel runs on it, and where there is Triton a launch is refused."""

from types import TracebackType
from typing import Any, NoReturn

import torch

from ...gpu import Finding, FreshMemory, KernelLaunch
from .guards import ForbiddenCall
from .outcome import Trouble


class NoKernels:
    """Fills what ``empty`` returns with poison, finds what was never written, and ends an answer that launches a
    kernel. name: of the exercise that is to be answered in PyTorch.
    """

    launching, undefined = False, False
    launches: tuple[Any, ...] = ()
    findings: tuple[Finding, ...] = ()
    hints: tuple[Finding, ...] = ()
    looser: tuple[str, ...] = ()

    def __init__(self, name: str):
        self.name, self._memory = name, FreshMemory()
        self.verdict: Trouble | None = None
        self.traffic: dict[str, dict[str, int]] = {}
        self._launch: Any = None

    def described(self) -> tuple[KernelLaunch | str, ...]:
        """None: nothing is launched."""
        return ()

    def poison_(self, tensor: torch.Tensor) -> torch.Tensor:
        """As `Machine.poison_`."""
        return self._memory.poison_(tensor)

    def note_written(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """As `Machine.note_written`."""
        self._memory.note_written(func, args, kwargs)

    def unwritten(self, tensor: torch.Tensor, name: str = "the output") -> Finding | None:
        """As `Machine.unwritten`."""
        return self._memory.unwritten(tensor, name)

    def __enter__(self) -> "NoKernels":
        try:
            from triton.runtime.interpreter import GridExecutor
        except ModuleNotFoundError:  # then nothing can be launched
            return self
        self._launch = GridExecutor.__call__
        GridExecutor.__call__ = self._refuse
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._launch:
            from triton.runtime.interpreter import GridExecutor

            GridExecutor.__call__ = self._launch

    def _refuse(self, *args: object, **options: object) -> NoReturn:
        why = f"This `{self.name}` launches a Triton kernel, so it is not the PyTorch answer."
        self.verdict = Trouble("refused", why)
        raise ForbiddenCall(why)
