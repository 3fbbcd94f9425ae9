"""Uninitialised memory in the hands of code that computes as it likes: what it never writes is found in its results."""

import weakref
from typing import TYPE_CHECKING, Any

from ...gpu import ATEN, lazily
from .borrowed import TorchDispatchMode, schema
from .tree import Args, Tree

if TYPE_CHECKING:
    from ...gpu import Emulator


@lazily
class NewMemory(TorchDispatchMode):
    """Has ``emulator`` poison what `torch.empty` and its kin return, and notes what operators write there."""

    def __init__(self, emulator: "Emulator"):
        super().__init__()  # type: ignore[no-untyped-call]  # PyTorch's own
        self.emulator = emulator

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Lets the compiler trace while the mode is active, which sees what the compiled program calls."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Args = (), kwargs: dict[str, Any] | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if self.emulator.launching:
            return result
        if ATEN.base(schema(func).name) in ATEN.allocate:
            for tensor in Tree((result,)).tensors:
                storage = self.emulator.poison_(tensor).untyped_storage()
                weakref.finalize(storage, self.emulator.mark_initialised, storage.data_ptr())
        else:
            self.emulator.note_written(func, args, kwargs or {})
        return result
