"""What a function takes: the memory of its tensors at their peak, and the bytes that its Triton kernels move.

Both are counted, not timed, and so the same on every machine.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from ..autograder.emulator import Emulator
from ..autograder.run.contract import Args
from ..autograder.run.interpret import interpreted
from ..autograder.run.peak_memory import Peak


class _Counting(TorchDispatchMode):
    """Shows every result of a PyTorch operator to a `Peak`."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # PyTorch's own
        self.peak = Peak()

    def __torch_dispatch__(self, func: Any, types: Any, args: Args = (), kwargs: dict[str, Any] | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.peak.note(result)
        return result


def peak_bytes(function: Callable[..., object], *args: object) -> int:
    """The most bytes that tensors made during ``function(*args)`` take at once; the arguments are not counted.

    Interpreted kernels run in the emulator: Triton's own interpreter copies all that they are given.
    """
    counting = _Counting()
    with Emulator() if interpreted() else nullcontext(), counting:
        result = function(*args)
    del result  # alive until here, so that what is returned counts
    return counting.peak.most


def bytes_moved(function: Callable[..., object], *args: object) -> int:
    """The bytes that the Triton kernels of ``function(*args)`` load and store, as the emulator counts them."""
    with Emulator() as emulator:
        function(*args)
    moved: int = sum(traffic["loaded"] + traffic["stored"] for traffic in emulator.traffic.values())
    return moved
