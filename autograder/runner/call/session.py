"""Code of this process on a GPU that is simulated: imported, made and called as if there were one."""

import contextlib
from collections.abc import Callable, Iterator

from ...gpu import ensure_runnable
from ...words import no_garbage


class Session:
    """Entered around all that is done with the code of somebody who trusts it: its import and its calls.

    simulated: whether that code finds a GPU where there is none (`gpu.cuda`); else a session changes nothing.
    hides_interpreter: whether it cannot ask if kernels are interpreted, as on a GPU. Raises NotRun where a GPU is to be
    simulated and there is no Triton.
    """

    def __init__(self, simulated: bool, hides_interpreter: bool = False):
        self.simulated, self._hides = simulated, hides_interpreter
        self._stack = contextlib.ExitStack()
        self._calls: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
        self._inside = False

    def __enter__(self) -> "Session":
        if self.simulated:
            ensure_runnable("triton")
            with no_garbage(for_good=False):
                from ...gpu import shimmed
            gpu = self._stack.enter_context(shimmed(hides_interpreter=self._hides, throughout=False))
            self._calls = gpu.calls
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @contextlib.contextmanager
    def code(self) -> Iterator[None]:
        """In the block it is the code that runs: what it asks PyTorch is asked of the simulated GPU, which takes an
        operator ten times its time. A block within another changes nothing.
        """
        if self._inside:
            yield
            return
        self._inside = True
        try:
            with self._calls():
                yield
        finally:
            self._inside = False
