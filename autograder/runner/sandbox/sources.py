"""Where the kernels of an answer are defined: in its own text, or in a module of its package that it imports."""

import ast
import re
from collections.abc import Iterable
from dataclasses import replace

from ...gpu import KernelLaunch, imported_kernels
from ..call.package import PackageModule, absolute

_SETS_ALLOCATOR = re.compile(r"\bset_allocator\s*\(")


class Sources:
    """The texts of an answer. text: its own, as far as it is Python; of a file in a package the file's. name, modules:
    as `Answer` has them.
    """

    def __init__(self, text: str, name: str = "answer", modules: Iterable[PackageModule] = ()):
        self.text, self.name = text, name
        self.modules = {module.name: module for module in modules}
        texts = {name: module.source for name, module in self.modules.items()} | {self.name: self.text}
        self.allocates = any(map(_SETS_ALLOCATOR.search, texts.values()))
        self.helpers = imported_kernels(texts, self._origin) if self.modules else {}

    def text_with(self, kernel: str) -> str:
        """The text that defines this kernel, as far as it can be seen; otherwise the answer's own."""
        defined = re.compile(rf"^def {re.escape(kernel)}\b", re.MULTILINE)
        texts = (self.text, *(module.source for module in self.modules.values()))
        return next((text for text in texts if defined.search(text)), self.text)

    def _origin(self, node: ast.ImportFrom, module: str) -> str | None:
        """Returns which of the modules a statement of this one imports from."""
        origin = absolute(node, module, module in self.modules and self.modules[module].package)
        return origin if origin in self.modules else None

    def completed(self, launch: KernelLaunch | str) -> KernelLaunch | str:
        """A launch that a child described, with the texts that this process has, and an allocator where one of them
        sets it: a replay has nothing of the answer that could.
        """
        if isinstance(launch, str):
            return launch
        launch = replace(launch, allocates=self.allocates)
        if not self.modules:
            return launch
        modules = {"triton": "triton"} | dict(launch.modules)  # which only the decorator names
        return replace(launch, source=self.text_with(launch.kernel), helpers=self.helpers, modules=modules)
