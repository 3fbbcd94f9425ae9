"""Says what an answer may call while it runs: watched one operator at a time, refused with the operator's name.

A PyTorch answer calls basic operators (see `operators`), and not the one that is the answer; and it calls them itself
(see `callers`). A Triton answer allocates, takes views and launches kernels; arithmetic with PyTorch is what the kernel
is for. Honest people learn of it early this way; the sandbox is what stops the others.
"""

import functools
from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch.overrides import TorchFunctionMode

from ...gpu import ATEN, lazily
from .borrowed import TorchDispatchMode, forward_mode, schema
from .callers import COMPOSES, composed
from .machine import Machine
from .outcome import FINISHING, MovedBytes, Own, Trouble
from .peak_memory import Peak
from .tree import Args, Tree

_COMPUTED = "You computed with PyTorch ({}) outside the kernel. Do it in the kernel, on the block it loaded."
_CONVERTED = (
    "You converted a tensor to another dtype outside the kernel. Convert in the kernel, after the load or at the "
    "store; or `copy_` the tensor into an empty one of that dtype."
)
AUTOGRAD = frozenset({"backward", "grad", "vjp", "jvp", "jacobian", "vhp", "hvp"})


class ForbiddenCall(BaseException):
    """Raised out of an answer at the call that is not allowed. Not an ``Exception``: ``except Exception`` must not
    hide it.
    """


@lazily
class OperatorWatch(TorchDispatchMode):
    """Refuses operators while an answer of ``backend`` runs, and has ``machine`` poison what ``empty`` returns.

    permits: says of an operator, named with its namespace, whether a PyTorch answer may call it; any, if None.

    While the emulator launches a kernel, the tensor work is the interpreter's own and not the answer's.
    """

    def __init__(
        self,
        backend: str,
        refused: frozenset[str],
        allowed: frozenset[str],
        machine: Machine,
        peak: Peak | None = None,
        permits: Callable[[str], bool] | None = None,
        moved: MovedBytes | None = None,
    ):
        super().__init__()  # type: ignore[no-untyped-call]  # PyTorch's own
        self.peak = peak
        self.backend, self.refused, self.allowed, self.machine = backend, refused, allowed, machine
        self.permits, self.moved = permits, moved
        self.moves = ATEN.memory | allowed
        self.sums: list[
            torch.UntypedStorage
        ] = []  # the memory of sums that were allowed: they may be converted to the output's dtype
        self.finished = False  # whether such a sum, of one number, was divided or multiplied
        self.verdict: Trouble | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Args = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if self.machine.launching:
            return func(*args, **kwargs)
        full, name, plain = _names(func)
        if plain in self.refused or name in self.refused:
            self._refuse(f"You called {name}, which is the answer itself or a part of it. Write it out.")
        if self.backend == "torch":
            self._check_torch(full, plain, args)
        elif name in FINISHING and isinstance(args[0], torch.Tensor) and args[0].numel() == 1 and self._is_sum(args[0]):
            self.finished = True
        elif not self._is_move(name, args, kwargs):
            if name == "_to_copy":
                self._refuse(_CONVERTED, "converted")
            self._refuse(_COMPUTED.format(name))
        if self.peak:
            self.peak.note(args)  # memory that no operator made: from NumPy, say
        result = func(*args, **kwargs)
        if self.moved and plain in MovedBytes.OPERATORS:
            self.moved.note(name, _bytes(args), _bytes((result,)))
        if name in ATEN.allocate:
            result = self.machine.poison_(result)
        else:
            self.machine.note_written(func, args, kwargs)
        if name == "sum" or (name == "copy_" and self._is_sum(args[1])):
            self.sums.append(result.untyped_storage())
        if self.peak:
            self.peak.note(result)
        return result

    def _check_torch(self, name: str, plain: str, args: Args) -> None:
        computes = plain not in ATEN.memory  # what only moves numbers has no formula
        if (
            "autograd" in self.refused
            and computes
            and (forward_mode() or any(_recorded(a) for a in Tree(args).tensors))
        ):
            self._refuse(
                f"autograd differentiates {plain} here: it works on a dual tensor or on one with requires_grad. "
                "The derivative is the exercise: write its formula, on the tensors as they come, or in the backward of "
                "a `torch.autograd.Function`, whose `apply` is then what you call."
            )
        if self.permits is not None and not self.permits(name):
            self._refuse(
                f"You called {plain}, which is not among the operators that this answer may call: it does more "
                "than one step. Write it out with basic operators (arithmetic, exp, log, sums, products of matrices)."
            )
        if self.permits is not None and (caller := composed()):
            self._refuse(COMPOSES.format(caller))

    def _is_move(self, name: str, args: Args, kwargs: dict[str, Any]) -> bool:
        if name == "_to_copy" and kwargs.get("dtype") not in (None, args[0].dtype):
            return self._is_sum(args[0])  # a conversion rounds: it is arithmetic, but for the end of an allowed sum
        return name in self.moves

    def _is_sum(self, tensor: torch.Tensor) -> bool:
        address = tensor.untyped_storage().data_ptr()
        return any(known_sum.data_ptr() == address for known_sum in self.sums)

    def _refuse(self, why: str, kind: Own = "refused") -> NoReturn:
        self.verdict = Trouble(kind, why)
        raise ForbiddenCall(why)


@functools.lru_cache(maxsize=1024)  # an answer calls a few operators thousands of times
def _names(func: Any) -> tuple[str, str, str]:
    """``aten::add_``, ``add_`` and ``add``."""
    full = schema(func).name
    name = full.split("::")[-1]
    return full, name, ATEN.base(name)


def _bytes(values: Args) -> list[int]:
    return [tensor.numel() * tensor.element_size() for tensor in Tree(values).tensors]


def _recorded(argument: torch.Tensor) -> bool:
    return argument.requires_grad and torch.is_grad_enabled()


HANDED_OVER = frozenset({"numpy", "__array__", "__dlpack__"})  # to another library


class WatchFunctions(TorchFunctionMode):
    """Refuses autograd where the derivative is the exercise (``autograd`` in ``refused``), and functions that are the
    answer but reach no operator of that name: ``rms_norm`` takes itself apart before `OperatorWatch` could see it.

    counted: whether the memory an answer takes is judged. Then a tensor's numbers stay in tensors.
    """

    def __init__(self, refused: frozenset[str], counted: bool = False):
        super().__init__()
        self.refused, self.counted = refused, counted
        self.verdict: Trouble | None = None

    def __torch_function__(self, func: Any, types: Any, args: Args = (), kwargs: dict[str, Any] | None = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in AUTOGRAD and "autograd" in self.refused:
            self._refuse(f"You called autograd ({name}). Here the derivative is the exercise: write its formula.")
        if name in self.refused:
            self._refuse(f"You called {name}, which is the answer itself or a part of it. Write it out.")
        if self.counted and name in HANDED_OVER:
            self._refuse(f"You called {name}: this exercise counts memory, and not memory that is not a tensor's.")
        return func(*args, **(kwargs or {}))

    def _refuse(self, why: str) -> NoReturn:
        self.verdict = Trouble("refused", why)
        raise ForbiddenCall(why)
