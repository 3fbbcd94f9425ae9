"""Where the kernels of an answer are defined: in its own text, or in a module of its package that it imports."""

import ast
import re
from collections.abc import Iterable
from dataclasses import replace

from ...gpu import Import, KernelLaunch, Names, bindings
from ..call.package import Module, absolute

_DEEP = 8  # modules that hand a name on


class Sources:
    """The texts of an answer. text: its own, as far as it is Python; of a file in a package the file's. name, modules:
    as `Answer` has them.
    """

    def __init__(self, text: str, name: str = "answer", modules: Iterable[Module] = ()):
        self.text, self.name = text, name
        self.modules = {module.name: module for module in modules}
        self._bound = {name: _bindings(self._text(name)) for name in (self.name, *self.modules)} if self.modules else {}
        self.helpers = self._imported()

    def text_with(self, kernel: str) -> str:
        """The text that defines this kernel, as far as it can be seen; otherwise the answer's own."""
        defined = re.compile(rf"^def {re.escape(kernel)}\b", re.MULTILINE)
        texts = (self.text, *(module.source for module in self.modules.values()))
        return next((text for text in texts if defined.search(text)), self.text)

    def _imported(self) -> dict[str, tuple[str, str]]:
        """What modules import of one another: name -> (the function's own name, the text that defines it)."""
        found = {}
        for module, names in self._bound.items():
            for name, bound in names.items():
                if isinstance(bound[0], Import) and (place := self._definition(module, name, _DEEP)):
                    found[name] = place
        return found

    def _definition(self, module: str, name: str, depth: int) -> tuple[str, str] | None:
        bound = self._bound[module].get(name, [None])[0]
        if isinstance(bound, ast.FunctionDef):
            return (name, self._text(module)) if bound.decorator_list else None
        if not isinstance(bound, Import) or bound.name is None or not depth:
            return None
        path = bound.module.lstrip(".")
        node = ast.ImportFrom(path or None, [], len(bound.module) - len(path))
        package = module in self.modules and self.modules[module].package
        origin = absolute(node, module, package)
        return self._definition(origin, bound.name, depth - 1) if origin in self.modules else None

    def _text(self, module: str) -> str:
        return self.text if module == self.name else self.modules[module].source

    def completed(self, launch: KernelLaunch | str) -> KernelLaunch | str:
        """A launch that a child described, with the texts that this process has."""
        if not self.modules or isinstance(launch, str):
            return launch
        modules = {"triton": "triton"} | dict(launch.modules)  # which only the decorator names
        return replace(launch, source=self.text_with(launch.kernel), helpers=self.helpers, modules=modules)


def _bindings(text: str) -> Names:
    """What the top level of ``text`` binds; nothing where it is not Python."""
    try:
        return bindings(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return {}
