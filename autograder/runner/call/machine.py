"""Says what runs a Triton answer's launches: the emulator, or a real GPU that is watched."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, runtime_checkable

import torch

from ...gpu import Finding, KernelLaunch


@runtime_checkable
class Machine(Protocol):
    """Holds what `Emulator` and `Device` have in common; entered with ``with``, after which launches run on it.

    launching: whether a kernel is running, so that what PyTorch does then is not the answer's doing.
    launches: one entry each. traffic: bytes loaded and stored, by tensor. findings: faults. hints: what may explain a
    wrong result. looser: operations whose result on a GPU may differ. undefined: whether a load had masked-off lanes
    and no ``other``. What a machine cannot see is empty.
    """

    launching: bool

    @property
    def launches(self) -> Sequence[Any]: ...

    @property
    def traffic(self) -> Mapping[str, dict[str, int]]: ...

    @property
    def findings(self) -> tuple[Finding, ...]: ...

    @property
    def hints(self) -> Sequence[Finding]: ...

    @property
    def looser(self) -> tuple[str, ...]: ...

    @property
    def undefined(self) -> bool: ...

    def described(self) -> tuple[KernelLaunch | str, ...]:
        """The distinct launches as data that can leave the process; a sentence for one that cannot be described."""
        ...

    def __enter__(self) -> "Machine": ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def poison_(self, tensor: torch.Tensor) -> torch.Tensor:
        """A new tensor of no promised values, filled with what no right result holds."""

    def note_written(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Notes that an operator of PyTorch's ran, and wrote what it wrote."""

    def unwritten(self, tensor: torch.Tensor, name: str = "the output") -> Finding | None:
        """The finding on elements of an output that were never written, if there are any."""
