"""What Triton does for every compilation, and has to do once here or not at all: loading MLIR's dialects, which takes
4 ms, and writing down the code of every stage, each text in a folder of its own that is made and removed for it.
"""

import os

from .optimising import VERSIONS

_READ = (".json", ".cubin", ".amdgcn", ".hsaco")  # what Triton or `worker` opens again


class Contexts:
    """Triton's ``ir``, but that all kernels for GPUs of one backend are made in one context. In a process that compiles
    for one answer: a context is never given back.
    """

    def __init__(self, ir, make_backend):
        self._ir, self._make_backend = ir, make_backend
        self._contexts: dict[str, object] = {}
        self._backend = ""
        self._new = False

    def __getattr__(self, name):
        return getattr(self._ir, name)

    def make_backend(self, target):
        """The backend, for which the next context is."""
        backend = self._make_backend(target)
        load, self._backend = backend.load_dialects, target.backend
        backend.load_dialects = lambda context: load(context) if self._new else None
        return backend

    def context(self):
        self._new = self._backend not in self._contexts
        if self._new:
            self._contexts[self._backend] = self._ir.context()
        return self._contexts[self._backend]

    def load_dialects(self, context) -> None:
        if self._new:
            self._ir.load_dialects(context)


class Written:
    """In place of Triton's cache, of which nothing is used twice: keeps what is read again, in a folder for it."""

    def __init__(self, key: str):
        self._folder = os.path.join(os.environ["TRITON_CACHE_DIR"], key[:32])
        os.makedirs(self._folder, exist_ok=True)
        self._empty = self._path("empty", b"")

    def _path(self, name: str, data: bytes) -> str:
        path = os.path.join(self._folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def get_group(self, name: str) -> None:
        """Nothing was compiled before."""

    def put_group(self, name: str, group: dict) -> None:
        """Nothing will be asked for later."""

    def put(self, data, name: str, binary: bool = True) -> str:
        if not name.endswith(_READ):
            return self._empty
        return self._path(name, data if isinstance(data, bytes) else str(data).encode())


def share() -> None:
    """For every kernel that this process and its children compile from now on. Of another Triton nothing is changed."""
    import triton
    from triton.compiler import compiler

    if triton.__version__ not in VERSIONS or isinstance(compiler.ir, Contexts):
        return
    contexts = compiler.ir = Contexts(compiler.ir, compiler.make_backend)
    compiler.make_backend = contexts.make_backend
    compiler.get_cache_manager = Written
