"""Drawing libraries that draw nothing, for the process of an answer, whose pictures are never shown.

The real matplotlib needs a folder to write to, and its import takes longer than a call. An ImportError would not do:
a chapter's setup cell imports ``matplotlib.pyplot`` above ``torch``, and without its setup no answer loads.
"""

import importlib.abc
import sys
import types
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec

LIBRARIES = ("matplotlib", "mpl_toolkits", "seaborn")


class Nothing(types.ModuleType):
    """Has every attribute, can be called, entered and indexed, and unpacks into two: ``figure, axes = subplots()``."""

    def __getattr__(self, name: str) -> "Nothing":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: object, **keywords: object) -> "Nothing":
        return self

    def __iter__(self) -> Iterator["Nothing"]:
        return iter((self, self))

    def __getitem__(self, key: object) -> "Nothing":
        return self

    def __setitem__(self, key: object, value: object) -> None: ...

    def __enter__(self) -> "Nothing":
        return self

    def __exit__(self, *error: object) -> None: ...


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `Nothing` under the names of `LIBRARIES`, and of all that is in them."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns a spec for a drawing library or a module in it, None for any other name."""
        if name.partition(".")[0] in LIBRARIES:
            return ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> Nothing:
        """Returns a `Nothing` of that name."""
        return Nothing(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Does nothing: the module has nothing to run."""


def leave_out_drawing() -> None:
    """Has this process import `Nothing` in place of drawing libraries from now on."""
    sys.meta_path.insert(0, Finder())
