"""Drawing libraries that draw nothing, for the process of an answer, whose pictures are never shown.

The real matplotlib needs a folder to write to, and its import takes longer than a call. An ImportError would not do:
a chapter's setup cell imports ``matplotlib.pyplot`` above ``torch``, and without its setup no answer loads.
"""

import importlib.abc
import importlib.machinery
import sys
import types

LIBRARIES = ("matplotlib", "mpl_toolkits", "seaborn")


class Nothing(types.ModuleType):
    """Has every attribute, can be called, entered and indexed, and unpacks into two: ``figure, axes = subplots()``."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args, **keywords):
        return self

    def __iter__(self):
        return iter((self, self))

    def __getitem__(self, key):
        return self

    def __setitem__(self, key, value): ...

    def __enter__(self):
        return self

    def __exit__(self, *error): ...


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `Nothing` under the names of `LIBRARIES`, and of all that is in them."""

    def find_spec(self, name: str, path=None, target=None):
        if name.partition(".")[0] in LIBRARIES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Nothing(spec.name)

    def exec_module(self, module): ...


def leave_out_drawing() -> None:
    sys.meta_path.insert(0, Finder())
