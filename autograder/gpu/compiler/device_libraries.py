"""The device functions that kernels usually call, in small libraries of their own.

Triton links a kernel that calls a device function with its GPU's whole library, which LLVM reads from beginning to end:
474 KB for NVIDIA, 210 KB for AMD. Here a process reads both once, before it forks, and keeps the usual functions as
text. A child links its own copy of that text, and Triton's library where its kernel calls any other function. The
kernel's code comes out the same.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .names import DEVICE_FUNCTIONS

VERSIONS = ("3.6.0", "3.7.1", "3.8.0", "3.9.0")  # of Triton, whose backends were read


class SmallLibrary:
    """Triton's ``llvm``, except that a module which calls no device functions but those in ``text`` is linked with it.

    library: the path of the whole library that Triton would link. functions: the names of what is in ``text``.
    """

    def __init__(self, llvm: Any, library: str, functions: set[str], text: str) -> None:
        self._llvm, self._library, self._functions, self._text = llvm, library, functions, text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._llvm, name)

    def link_extern_libs(self, module: Any, paths: Sequence[str]) -> None:
        """Links what ``module`` calls, as Triton's function of this name does."""
        called = {function.name for function in module.get_functions() if function.is_declaration()}
        others = {name for name in called - self._functions if not name.startswith("llvm.")}
        if others or list(paths) != [self._library]:
            self._llvm.link_extern_libs(module, paths)
            return
        with tempfile.NamedTemporaryFile("w", suffix=".ll") as file:
            file.write(self._text)
            file.flush()
            self._llvm.link_extern_libs(module, [file.name])


def share() -> None:
    """Links every kernel that this process and its children compile from now on with these libraries. Where they cannot
    be read, or Triton is another version, nothing changes.
    """
    import triton
    from triton.backends.amd import compiler as amd
    from triton.backends.nvidia import compiler as nvidia

    from ..borrowed import compiler_ir as ir

    if triton.__version__ not in VERSIONS or isinstance(amd.llvm, SmallLibrary):
        return
    context = ir.context()
    ir.load_dialects(context)
    for owner, backend, library, name in (
        (nvidia, nvidia, "libdevice.10.bc", "__nv_{}f"),
        (amd, amd, "ocml.bc", "__ocml_{}_f32"),
    ):
        path = str(Path(backend.__file__).parent / "lib" / library)
        functions = {name.format(number) for number in DEVICE_FUNCTIONS}
        try:
            owner.llvm = SmallLibrary(owner.llvm, path, functions, _cut(path, functions, context))
        except (OSError, RuntimeError, ValueError):  # it is read for each kernel, as by Triton itself
            continue


def _cut(library: str, functions: set[str], context: Any) -> str:
    """LLVM's text of these functions and of what they need. LLVM makes it: it links only what a module declares."""
    from ..borrowed import compiler_ir as ir
    from ..borrowed import llvm

    declared = "\n".join(f"llvm.func @{name}(f32) -> f32" for name in sorted(functions))
    with open(os.memfd_create("declared", os.MFD_CLOEXEC), "w") as file:  # out of reach of any child
        file.write(declared)
        file.flush()
        parsed = ir.parse_mlir_module(f"/proc/self/fd/{file.fileno()}", context)
    llvm_context = llvm.context()
    module = llvm.to_module(parsed, llvm_context)
    llvm.link_extern_libs(module, [library])
    return str(module).replace("\ndefine internal ", "\ndefine ")  # linking hides what it has found
