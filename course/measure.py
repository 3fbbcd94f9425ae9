"""What a function takes: the memory of its tensors at their peak, and the bytes that its Triton kernels move.

Both are counted, not timed, and so the same on every machine.
"""

from collections.abc import Callable

from torch.utils._python_dispatch import TorchDispatchMode

from ..autograder.emulator import Emulator
from ..autograder.run.peak_memory import Peak


class _Counting(TorchDispatchMode):
    """Shows every result of a PyTorch operator to a `Peak`."""

    def __init__(self):
        super().__init__()
        self.peak = Peak()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.peak.note(result)
        return result


def peak_bytes(function: Callable, *args) -> int:
    """The most bytes that tensors made during ``function(*args)`` take at once; the arguments are not counted."""
    with _Counting() as counting:
        result = function(*args)
    del result  # alive until here, so that what is returned counts
    return counting.peak.most


def bytes_moved(function: Callable, *args) -> int:
    """The bytes that the Triton kernels of ``function(*args)`` load and store, as the emulator counts them."""
    with Emulator() as emulator:
        function(*args)
    return sum(traffic["loaded"] + traffic["stored"] for traffic in emulator.traffic.values())
