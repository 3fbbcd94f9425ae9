"""An answer in a file of a package: what it imports of that package, as text that travels with it.

The answer's process sees no folder of the package. A module's own parents are packages without content, unless a name
is imported from them that is not a module: `__init__.py` would import everything else there is.
"""

import ast
import importlib.abc
import importlib.util
import linecache
import sys
import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path

TOP = "package_root"  # stands for the root, where a relative import reaches it
MOST = 400  # files


@dataclass(frozen=True)
class PackageModule:
    """name: as it is imported. file: what messages call it. package: whether it is an ``__init__.py``."""

    name: str
    file: str
    source: str
    package: bool = False


class PackageError(Exception):
    """Files that cannot travel with an answer; the message says why."""


class _BeyondTop(Exception):
    """A relative import of the root itself."""


def collect(path: Path, root: Path) -> tuple[str, tuple[PackageModule, ...]]:
    """The name of the module at ``path``, and all that it imports from below ``root``, directly or not.

    Raises PackageError where the file is not below the root, or imports what cannot be read.
    """
    path, root = path.resolve(), root.resolve()
    if not path.is_relative_to(root):
        raise PackageError(f"{path} is not below {root}: name the folder that its imports begin in with --root")
    parts = path.relative_to(root).with_suffix("").parts
    for top in ("", TOP):
        name = ".".join([*([top] if top else []), *parts])
        collection = _Collection(root, top, name)
        try:
            collection.follow(name, False, _text(path))
            return name, tuple(collection.modules.values())
        except _BeyondTop:
            continue
    raise PackageError(f"{path} imports from above {root}: name a folder further up with --root")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PackageError(f"{path} cannot be read: {error}") from None


class _Collection:
    def __init__(self, root: Path, top: str, answer: str):
        self.root, self.top, self.answer = root, top, answer
        self.modules: dict[str, PackageModule] = {}

    def follow(self, name: str, package: bool, source: str) -> None:
        """Adds what a module's text imports."""
        for parent in _parents(name):
            self.modules.setdefault(parent, PackageModule(parent, str(self.root), "", True))
        try:
            nodes = list(ast.walk(ast.parse(source)))
        except (SyntaxError, ValueError, RecursionError):
            return  # the answer's own run reports it
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._need(alias.name)
            elif isinstance(node, ast.ImportFrom):
                base = absolute(node, name, package)
                if base is None:
                    raise _BeyondTop
                for alias in node.names:
                    if not self._need(f"{base}.{alias.name}"):
                        self._need(base)

    def _need(self, name: str) -> bool:
        """Returns whether there is such a module below the root; then it is added, with what it imports."""
        located = self._file(name)
        if located is None or name == self.answer:
            return located is not None
        file, package = located
        known = self.modules.get(name)
        if known is None or (package and not known.source and file.is_file()):
            if len(self.modules) >= MOST:
                raise PackageError(f"{self.answer} imports more than {MOST} files of {self.root}")
            source = _text(file) if file.is_file() else ""
            self.modules[name] = PackageModule(name, str(file), source, package)
            self.follow(name, package, source)
        return True

    def _file(self, name: str) -> tuple[Path, bool] | None:
        """Returns a module's file, and whether it is a package, whose folder may have no ``__init__.py``."""
        parts = name.split(".")
        if self.top and parts[0] == self.top:
            parts = parts[1:]
        if not all(parts):
            return None
        folder = self.root.joinpath(*parts)
        file, package = folder.with_name(f"{folder.name}.py"), False
        if not file.is_file():
            file, package = folder / "__init__.py", True
        there = file.is_file() or (package and folder.is_dir())
        within = file.resolve().is_relative_to(self.root)  # else it lies behind a link
        return (file, package) if there and within else None


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


def absolute(node: ast.ImportFrom, name: str, package: bool) -> str | None:
    """The module that ``from ... import`` names in the module ``name``; None where it is above the topmost."""
    if not node.level:
        return node.module or ""
    around = name.split(".")
    above = node.level - (1 if package else 0)  # how many of its parts to leave out
    if above >= len(around):
        return None
    return ".".join([*around[: len(around) - above], *([node.module] if node.module else [])])


class Texts(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules from their texts."""

    def __init__(self, modules: Iterable[PackageModule]):
        self.modules = {module.name: module for module in modules}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """Finds the modules whose texts are known, for `sys.meta_path`."""
        module = self.modules.get(fullname)
        if module is None:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=f"<{module.file}>", is_package=module.package)

    def exec_module(self, module: types.ModuleType) -> None:
        """Runs a module's text, under a name that tracebacks find its lines by."""
        source = self.get_source(module.__name__)
        filename = module.__file__ = f"<{self.modules[module.__name__].file}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)

    def get_source(self, fullname: str) -> str:  # which `inspect` asks for
        """Returns a module's text, which `inspect` asks for."""
        return self.modules[fullname].source


def install(modules: tuple[PackageModule, ...]) -> None:
    """Has these modules imported from their texts from now on, and those of an earlier answer no longer."""
    for finder in [known for known in sys.meta_path if isinstance(known, Texts)]:
        sys.meta_path.remove(finder)
        for name in finder.modules:
            sys.modules.pop(name, None)
    if modules:
        sys.meta_path.insert(0, Texts(modules))
