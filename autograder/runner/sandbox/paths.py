"""Says what a worker sees of the file system: Python, PyTorch, Triton, and of this project the folders listed here."""

import glob
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

from ..call.torch_files import composes, leads_on

PACKAGE = Path(__file__).resolve().parents[3]
GRADER = PACKAGE / "autograder"
# Which know nothing of what is right. `gpu/sanitize` is not among them: it reads and writes files.
ROOMS = (
    *(
        "gpu/__init__.py",
        "gpu/aten.py",
        "gpu/borrowed.py",
        "gpu/interpret.py",
        "gpu/devices.py",
        "gpu/rules.py",
        "gpu/compiler",
        "gpu/cuda",
    ),
    *("gpu/emulator", "runner/call", "runner/sandbox/worker", "runner/sandbox/wire", "words"),
)
RECORDS = "graded_kernels.exercises"  # the group of entry points by which packages offer records of their own
LIBRARIES = ("torch", "triton", "numpy")
SYSTEM = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64")
_PYTHON = (".py", ".pyc")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")


@dataclass(frozen=True)
class FileView:
    """readable: files and folders that the worker can read, except for the paths in ``hidden`` below them."""

    readable: tuple[str, ...]
    hidden: tuple[str, ...]

    def rules(self, composed: bool = True) -> tuple[list[str], list[str]]:
        """(readable, listable) without a hidden path below any readable one: Landlock cannot revoke a permission
        further down. composed: whether the files in which PyTorch composes operators can be read.
        """
        hidden = {*self.hidden, *(() if composed else _compositions())}
        around = {str(folder) for path in hidden for folder in Path(path).parents}
        readable, listable = [], []
        queue = [path for path in self.readable if not any(_within(path, root) for root in self.hidden)]
        while queue:
            path = queue.pop()
            if path in hidden:
                continue
            if path in around:
                listable.append(path)
                queue += [entry.path for entry in os.scandir(path)]
            else:
                readable.append(path)
        return readable + list(DEVICES), listable


def interpreter() -> str:
    """This Python without its virtual environment: the worker gets the import paths explicitly."""
    return os.path.realpath(sys.executable)


def site_folders() -> list[str]:
    """Where the libraries an answer may import are installed, in the order in which this process looks for them."""
    folders = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    for name in LIBRARIES:
        spec = importlib.util.find_spec(name)
        if spec and spec.origin:
            folders.append(str(Path(spec.origin).parents[1]))
    order = [os.path.realpath(folder) for folder in sys.path]
    real = dict.fromkeys(os.path.realpath(folder) for folder in folders if os.path.isdir(folder))
    return sorted(real, key=lambda folder: order.index(folder) if folder in order else len(order))


def view(hidden: Iterable[str] = ()) -> FileView:
    """For this interpreter, as it is installed. hidden: folders and files that would be seen otherwise: records of
    exercises, to which those of installed packages are added.
    """
    standard = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.join(sys.base_prefix, "lib")]
    shared = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if os.path.isabs(folder)]
    folders = [*SYSTEM, *standard, *site_folders(), *shared]
    folders = list(dict.fromkeys(os.path.realpath(folder) for folder in folders if os.path.isdir(folder)))
    outer = [f for f in folders if not any(f != other and _within(f, other) for other in folders)]
    rooms = [str(GRADER / room) for room in ROOMS]
    more = [os.path.realpath(path) for path in (*hidden, *Offers(course=False).files)]
    more = [path for path in more if any(_within(path, folder) for folder in outer)]
    return FileView((*outer, *rooms), (*_secrets(rooms, outer), *dict.fromkeys(more)))


@dataclass(frozen=True)
class Offers:
    """The records that this package itself offers, whose folders are listed by `ROOMS`, or those that others offer."""

    course: bool

    @property
    def points(self) -> list[metadata.EntryPoint]:
        """The entry points at which they are."""
        points = sorted(metadata.entry_points(group=RECORDS), key=lambda point: point.name)
        return [point for point in points if (point.module.partition(".")[0] == "graded_kernels") is self.course]

    @property
    def files(self) -> list[str]:
        """Files and folders of the packages, whole: what is right may be anywhere in them. Nothing is imported."""
        names = {point.module.partition(".")[0] for point in self.points}
        paths: list[str] = []
        for spec in filter(None, map(PathFinder.find_spec, sorted(names))):
            if spec.submodule_search_locations is not None:
                paths += spec.submodule_search_locations
            elif spec.origin:
                paths += [spec.origin, *glob.glob(f"{Path(spec.origin).parent}/__pycache__/{spec.name}.*.pyc")]
        return paths


def _compositions() -> Iterator[str]:
    """The files and folders of PyTorch that compose: see `torch_files`."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return
    root, queue = os.path.realpath(os.path.dirname(spec.origin)), [""]
    while queue:
        folder = queue.pop()
        for entry in os.scandir(os.path.join(root, folder)):
            name = f"{folder}{entry.name}/" if entry.is_dir() else folder + entry.name
            if entry.is_dir() and (entry.name == "__pycache__" or leads_on(name)):
                queue.append(name)
            elif composes(_source_of(name)) and (entry.is_dir() or name.endswith(_PYTHON)):
                yield entry.path


def _source_of(file: str) -> str:
    """``nn/grad.py`` for ``nn/__pycache__/grad.cpython-311.pyc``, and any other file itself."""
    folder, _, name = file.rpartition("__pycache__/")
    return f"{folder}{name.partition('.')[0]}.py" if name.endswith(".pyc") else file


def _secrets(rooms: list[str], folders: list[str]) -> tuple[str, ...]:
    """The entries of this package that would be visible if it is installed among the libraries, except for the rooms
    and the folders that lead to them.
    """
    if not any(_within(str(PACKAGE), folder) for folder in folders):
        return ()
    above = {str(parent) for room in rooms for parent in Path(room).parents}
    entries = [entry.path for folder in above if _within(folder, str(PACKAGE)) for entry in os.scandir(folder)]
    return tuple(sorted(path for path in entries if path not in rooms and path not in above))


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
