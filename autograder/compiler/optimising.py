"""LLVM optimises a kernel once for all of NVIDIA's GPUs for which Triton makes the same LLVM code of it.

Triton's NVIDIA backend links the device library and optimises for each GPU anew, although neither step is told which
GPU it is for. Here the result is kept by the text of the code and the options, within one process: that of the kernels
of one answer.
"""

import functools

# Whose backend was read: optimising is the last thing it does to the code, and all it knows of the GPU is its options.
VERSIONS = ("3.6.0", "3.7.1", "3.8.0", "3.9.0")


class Shared:
    """Triton's ``llvm``, but that linking waits until the code is optimised, and what is known is not done again."""

    def __init__(self, llvm):
        self.llvm = llvm
        self._libraries: tuple[str, ...] = ()
        self._known: dict[tuple, str] = {}
        self.optimised: str | None = None  # text of the module that came last

    def __getattr__(self, name):
        return getattr(self.llvm, name)

    def link_extern_libs(self, module, paths):
        self._libraries = tuple(paths)

    def optimize_module(self, module, *options, **named):
        libraries, self._libraries = self._libraries, ()
        key = (str(module), libraries, options, repr(sorted(named.items())))
        if key not in self._known:
            if libraries:
                self.llvm.link_extern_libs(module, list(libraries))
            self.llvm.optimize_module(module, *options, **named)
            self._known[key] = str(module)
        self.optimised = self._known[key]


def share() -> None:
    """For every kernel that this process and its children compile from now on. Of another Triton nothing is changed."""
    import triton
    from triton.backends.nvidia import compiler

    if triton.__version__ not in VERSIONS or isinstance(compiler.llvm, Shared):
        return
    shared = compiler.llvm = Shared(compiler.llvm)
    make_llir = compiler.CUDABackend.make_llir

    @functools.wraps(make_llir)
    def optimised(self, *arguments):
        make_llir(self, *arguments)
        return shared.optimised

    compiler.CUDABackend.make_llir = optimised
