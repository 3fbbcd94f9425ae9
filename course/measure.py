"""Says what a function takes: the memory of its tensors at their peak, the bytes that its Triton kernels move and the
operations that they carry out, and what a GPU's compiler says of them.

All of it is counted or compiled, not timed, and so the same on every machine.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch.utils._python_dispatch import TorchDispatchMode

from ..autograder.gpu import Target, simulation
from ..autograder.gpu.compiler.launches import plain_launches
from ..autograder.runner import Args, Compiler, Peak

if TYPE_CHECKING:
    from ..autograder.gpu import Emulator


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
    with simulation(), counting:
        result = function(*args)
    del result  # alive until here, so that what is returned counts
    return counting.peak.most


def _emulator() -> "Emulator":
    from ..autograder.gpu import Emulator  # it needs Triton, which `peak_bytes` does not

    return Emulator()


def bytes_moved(function: Callable[..., object], *args: object) -> int:
    """The bytes that the Triton kernels of ``function(*args)`` load and store, as the emulator counts them."""
    with _emulator() as emulator:
        function(*args)
    moved: int = sum(traffic["loaded"] + traffic["stored"] for traffic in emulator.traffic.values())
    return moved


def flops(function: Callable[..., object], *args: object) -> int:
    """The floating-point operations of the Triton kernels of ``function(*args)``, as `flop_count` counts them."""
    from .flop_count import counting_flops

    emulator = _emulator()
    emulator.together = False  # numbers that all programs share would be computed, and counted, once
    with emulator, counting_flops() as count:
        function(*args)
    return count.total


def compiled(function: Callable[..., object], *args: object, target: str = "sm_90") -> list[dict[str, Any]]:
    """Returns what the compiler for ``target`` says of each different launch of ``function(*args)``, in order: rows as
    `gpu.compiler` describes them. Raises RuntimeError where this machine has no compiler, or a launch cannot be
    described.
    """
    with _emulator() as emulator:
        function(*args)
    rows: list[dict[str, Any]] = []
    with Compiler() as compiler:
        for launch in plain_launches(emulator.launches):
            if isinstance(launch, str):
                raise RuntimeError(launch)
            report = compiler.report([launch], Target.named(target))
            if report["status"] == "not-run":
                raise RuntimeError(report["reason"])
            rows += report["targets"]
    return rows
