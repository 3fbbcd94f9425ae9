"""Calls in the emulator that keep what each float of their results was computed from, and in which order."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...gpu import ATEN, lazily
from .borrowed import TorchDispatchMode, schema
from .examination import Index
from .tree import Args, Tree

if TYPE_CHECKING:
    from ...gpu import Emulator


Launched = tuple[str, tuple[int, ...], tuple[tuple[str, Any], ...]]  # a kernel, its grid, its constants


def launched(launch: Any) -> Launched:
    """A launch of the emulator's as `FollowedCall` has it."""
    constants = tuple((argument.name, argument.value) for argument in launch.arguments if argument.kind == "constexpr")
    return launch.name, launch.grid, constants


@lazily
class ResultOperators(TorchDispatchMode):
    """Notes the operators of PyTorch that compute between the kernels of ``emulator``."""

    def __init__(self, emulator: "Emulator"):
        super().__init__()  # type: ignore[no-untyped-call]  # PyTorch's own
        self.emulator = emulator
        self._made: dict[int, tuple[str, torch.UntypedStorage]] = {}  # which is kept, so that none gets its memory

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Lets the compiler trace while the mode is active, which sees what the compiled program calls."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Args = (), kwargs: dict[str, Any] | None = None) -> Any:
        result, name = func(*args, **(kwargs or {})), ATEN.base(schema(func).name)
        if not self.emulator.launching and name in ATEN.compute:
            shapes = [tuple(argument.shape) for argument in Tree(args).tensors[:1]]
            for tensor in Tree.of(result).tensors:
                storage = tensor.untyped_storage()
                self._made[storage.data_ptr()] = f"`{name}` of PyTorch on a tensor of shape {shapes[0]}", storage
        return result

    def of(self, tensor: torch.Tensor) -> str:
        """The operator that made a tensor, or changed it last, in words; "" where that is not known."""
        return self._made.get(tensor.untyped_storage().data_ptr(), ("",))[0]


@dataclass(frozen=True)
class FollowedElement:
    """An element of a result. histories: those of its call. history: its own, equal to that of another element which
    was computed alike.
    """

    histories: Any
    history: np.uint64

    def parting(self, other: "FollowedElement") -> Any:
        """Where its computation and another's part (`gpu.emulator.history.tape.Parting`); None where they do not, or
        that is not found.
        """
        alike = self.history == other.history
        return None if alike else self.histories.parting(self.history, other.histories, other.history)


@dataclass(frozen=True)
class FollowedCall:
    """outputs: the call's own, of which ``histories`` knows the memory. one_by_one: kernel and reason of the first
    launch whose programs did not run together, so that its histories are not known; None where there is none. launches:
    each kernel with its grid and its constants. operators: those of PyTorch that computed, with the shape of what they
    were given, by the memory of their results.
    """

    outputs: Args
    histories: Any
    one_by_one: tuple[str, str] | None
    launches: tuple[Launched, ...] = ()
    operators: "ResultOperators | None" = None

    @property
    def hashes(self) -> tuple[torch.Tensor, ...]:
        """The history of each element of each output, int64; none where programs ran one by one."""
        if self.one_by_one:
            return ()
        return tuple(map(self.history_of, self.outputs))

    def history_of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The same of each element of one tensor of the call."""
        return torch.from_numpy(np.ascontiguousarray(self.of(tensor)).view(np.int64))

    def element(self, output: int, index: Index) -> FollowedElement:
        """The element of an output."""
        return FollowedElement(self.histories, self.of(self.outputs[output])[index])

    def unordered(self, output: int) -> str:
        """The sum by atomics that an output was computed from and whose order is chance, in words, or ""."""
        place: str = self.histories.unordered(self.outputs[output])
        return place

    def operator(self, output: int) -> str:
        """The operator of PyTorch that an output comes from, in words; "" where a kernel stored it."""
        return self.operators.of(self.outputs[output]) if self.operators else ""

    def of(self, tensor: torch.Tensor) -> np.ndarray:
        """The history of each of its elements, uint64; equal ones were computed alike."""
        return self.histories.of(tensor)  # type: ignore[no-any-return]


def parting(element: FollowedElement, other: FollowedElement) -> tuple[str, ...]:
    """Where two elements part, in words: what is done in the one call, and what in the other; none where they do not,
    or that is not found.
    """
    steps = element.parting(other)
    return (steps.here, steps.there) if steps and steps.here != steps.there else ()
