"""Something that is done when one of some modules is imported, before whoever imports it goes on."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


@contextlib.contextmanager
def after(names: Sequence[str], begin: Callable[[], None]) -> Iterator[None]:
    """Calls ``begin``, once, behind the first import of a module of ``names`` in the block; at once where one is there.
    An import of one within that of another ends with the outer one.
    """
    if any(name in sys.modules for name in names):
        begin()
        yield
        return
    finder = _Finder(names, begin)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        finder.leave()


class _Finder:
    """Finds modules as those behind it do, and has their loaders tell when they are done."""

    def __init__(self, names: Sequence[str], begin: Callable[[], None]):
        self._names, self._begin = names, begin
        self._under_way = 0

    def leave(self) -> None:
        """Finds nothing any more."""
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As Python's import calls it."""
        if name not in self._names:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec and spec.loader:
            self._listen(spec.loader)
        return spec

    def _listen(self, loader: object) -> None:
        """The loader stays the module's own, which tools ask for its source."""
        load = loader.exec_module  # type: ignore[attr-defined]

        def loaded(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)
            self._under_way += 1
            try:
                load(module)
            finally:
                self._under_way -= 1
            if not self._under_way and self in sys.meta_path:
                self.leave()
                self._begin()

        vars(loader)["exec_module"] = loaded
