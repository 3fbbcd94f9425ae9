"""A worker for answers, and the compiler for what they launch."""

from . import trades
from .compiler import Compiler
from .host import Host


class Worker(Host):
    """Forks a child for every call of an answer; compiles on the same rung."""

    def __init__(self, rung: str | None = None):
        super().__init__(rung, trades.answering())
        self._compiler: Compiler | None = None

    @property
    def compiler(self) -> Compiler:
        """On this rung; its process starts when it is first needed, and ends with this worker."""
        self._compiler = self._compiler or Compiler(self.rung)
        return self._compiler

    def close(self) -> None:
        if self._compiler:
            self._compiler.close()
        super().close()
