"""Fix commits of libraries: their kernels before and as of the commit, each called by a few lines of ours.

Nothing of theirs is here: `Library` reads the files of one commit out of a clone. DRAWN.md says how commits were drawn.
"""

import importlib
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Fix:
    """repository, commit: of the repair. kind: of row.KINDS. place: what was wrong. differs: whether what comes out
    before the repair was seen to differ from mathematics in float64; an access outside may change no number.
    """

    repository: str
    commit: str
    kind: str
    place: str
    licence: str
    differs: bool
    call: Callable[["Library"], tuple[Any, Any]]


FIXES: dict[str, Fix] = {}
LIBRARIES = ("liger", "fla", "gems", "ao", "unsloth", "lightllm")


class Library:
    """The files of a repository as of a commit."""

    def __init__(self, clone: Path, commit: str):
        self.clone, self.commit = clone, commit

    def part(self, path: str) -> Path:
        """A folder with this part of the repository, in the present folder."""
        git = ["git", "-C", str(self.clone), "archive", self.commit, path]
        told = subprocess.run(git, capture_output=True, check=True)
        where = tempfile.mkdtemp(dir=".")
        tarfile.open(fileobj=io.BytesIO(told.stdout)).extractall(where, filter="data")
        return Path(where).resolve()

    def module(self, folder: str, name: str, **stubs: dict[str, Any]) -> ModuleType:
        """The module ``name``, `imported` out of ``folder``, in which its packages are."""
        return imported(self.part(str(Path(folder, name.partition(".")[0]))) / folder, name, **stubs)


def imported(root: Path, name: str, **stubs: dict[str, Any]) -> ModuleType:
    """The module ``name``, whose packages are in ``root``. Packages that it is in are not run; ``stubs`` are modules
    that it imports and that are not here, with two underscores for a dot.
    """
    top = name.partition(".")[0]
    for gone in [one for one in sys.modules if one.partition(".")[0] == top]:
        del sys.modules[gone]
    parts = name.split(".")[:-1]
    for package in [".".join(parts[: n + 1]) for n in range(len(parts))]:
        _put(package, __path__=[str(root / package.replace(".", "/"))], __version__="0")
    for stub, content in stubs.items():
        _put(stub.replace("__", "."), **content)
    sys.path.insert(0, str(root))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(root))


def _put(name: str, **content: Any) -> None:
    module = ModuleType(name)
    vars(module).update(content)
    sys.modules[name] = module


def fix(repository: str, commit: str, kind: str, place: str, licence: str, differs: bool = True) -> Callable:
    """Enters a call into `FIXES`: a function of a `Library` that returns what came out and what is right."""

    def enter(call: Callable) -> Callable:
        FIXES[call.__name__] = Fix(repository, commit, kind, place, licence, differs, call)
        return call

    return enter


def entered() -> dict[str, Fix]:
    """All fixes, by the name of the call, in the order of `LIBRARIES`."""
    modules = [importlib.import_module(f".{library}", __name__).__name__ for library in LIBRARIES]
    return {name: one for module in modules for name, one in FIXES.items() if one.call.__module__ == module}
