"""A worker for answers, and the compiler for the kernels that they launch."""

from typing import TYPE_CHECKING, ClassVar

from ...gpu import mode
from . import roles
from .host import Host
from .probe import LEVELS, SandboxError, require

if TYPE_CHECKING:
    from .compiler import Compiler


class Worker(Host):
    """Forks the processes in which answers are called; compiles at the same level.

    hidden: files and folders that no answer may read, even in a folder of libraries: the records of exercises.
    isolated: whether it has to keep answers from files and network. Raises SandboxError where it cannot, and
    where there is no Triton.
    """

    LEVELS: ClassVar = LEVELS

    def __init__(self, level: str | None = None, hidden: tuple[str, ...] = (), isolated: bool = False):
        if mode() == "no triton":
            raise SandboxError("the sandbox is made for Linux with Triton")
        if isolated:
            require("good")
        super().__init__(level, roles.answering(hidden))
        self._compiler: Compiler | None = None

    @property
    def compiler(self) -> "Compiler":
        """At the same level. Its process starts on first use and ends with this worker."""
        from .compiler import Compiler  # and PyTorch with it

        self._compiler = self._compiler or Compiler(self.level, hidden=self.role.hidden)
        return self._compiler

    def close(self) -> None:
        """Ends its processes and the compiler's."""
        if self._compiler:
            self._compiler.close()
        super().close()
