"""What an answer may call while it runs: watched one operator at a time, refused with the operator's name.

A PyTorch answer may not call the op that is the answer. A Triton answer allocates, takes views and launches kernels;
arithmetic with PyTorch is what the kernel is for. This is how honest people are told early; it is no wall against the
others.
"""

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from triton.runtime.interpreter import GridExecutor

from .device import Device
from .dynamo import lazily
from .emulator import Emulator
from .peak import Peak

ALLOCATE = frozenset("empty empty_like empty_strided new_empty new_empty_strided".split())
FILL = frozenset("zeros zeros_like new_zeros full full_like new_full ones ones_like fill_ zero_ scalar_tensor".split())
MOVE = frozenset("clone copy_ contiguous detach alias lift_fresh _to_copy".split())
VIEW = frozenset(
    "view _unsafe_view reshape _reshape_alias as_strided t transpose permute expand squeeze unsqueeze slice select "
    "narrow split split_with_sizes chunk unbind flatten unfold diagonal set_ resize_ view_as_real".split()
)
AUTOGRAD = frozenset({"backward", "grad", "vjp", "jvp", "jacobian", "vhp", "hvp"})


class Refused(BaseException):
    """Raised out of an answer at the call that is not allowed. Not an ``Exception``: ``except Exception`` must not
    hide it.
    """


@lazily
class Watch(TorchDispatchMode):
    """Refuses operators while an answer of ``backend`` runs, and has ``emulator`` poison what ``empty`` returns.

    While the emulator launches a kernel, the tensor work is the interpreter's own and not the answer's.
    """

    def __init__(
        self,
        backend: str,
        refused: frozenset[str],
        allowed: frozenset[str],
        emulator: Emulator | Device,
        peak: Peak | None = None,
    ):
        super().__init__()
        self.peak = peak
        self.backend, self.refused, self.allowed, self.emulator = backend, refused, allowed, emulator
        self.verdict: str | None = None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.emulator.launching:
            return func(*args, **kwargs)
        name = func._schema.name.split("::")[-1]
        if name.rstrip("_") in self.refused or name in self.refused:
            self._refuse(f"You called {name}, which is the answer itself. Write it out.")
        if self.backend == "triton" and not self._is_move(name, args, kwargs):
            self._refuse(
                f"You computed with PyTorch ({name}) outside the kernel. Do it in the kernel, on the block it loaded."
            )
        result = func(*args, **kwargs)
        if name in ALLOCATE:
            result = self.emulator.poison_(result)
        if self.peak:
            self.peak.note(result)
        return result

    def _is_move(self, name: str, args: tuple, kwargs: dict) -> bool:
        if name == "_to_copy" and kwargs.get("dtype") not in (None, args[0].dtype):
            return False  # a conversion rounds: it is arithmetic
        return name in ALLOCATE | FILL | MOVE | VIEW | self.allowed

    def _refuse(self, why: str):
        self.verdict = why
        raise Refused(why)


class WatchFunctions(TorchFunctionMode):
    """Refuses autograd where the derivative is the exercise (``autograd`` in ``refused``), and functions that are the
    answer but reach no operator of that name: ``rms_norm`` takes itself apart before `Watch` could see it.
    """

    def __init__(self, refused: frozenset[str]):
        super().__init__()
        self.refused = refused
        self.verdict: str | None = None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name in AUTOGRAD and "autograd" in self.refused:
            self._refuse(f"You called autograd ({name}). Here the derivative is the exercise: write its formula.")
        if name in self.refused:
            self._refuse(f"You called {name}, which is the answer itself. Write it out.")
        return func(*args, **(kwargs or {}))

    def _refuse(self, why: str):
        self.verdict = why
        raise Refused(why)


class NoLaunches:
    """Refuses a launch where kernels are interpreted and ``name`` is to be answered in PyTorch."""

    def __init__(self, name: str):
        self.name = name
        self.verdict: str | None = None

    def __enter__(self) -> "NoLaunches":
        self.original = GridExecutor.__call__
        GridExecutor.__call__ = self._refuse
        return self

    def __exit__(self, *error) -> None:
        GridExecutor.__call__ = self.original

    def _refuse(self, *args, **options):
        self.verdict = f"This `{self.name}` launches a Triton kernel; run the PyTorch answer's cell again."
        raise Refused(self.verdict)
