"""The public API of a product: names that are imported from their modules when they are first asked for."""

import ast
import difflib
import importlib
from collections.abc import Callable
from importlib.util import resolve_name
from pathlib import Path
from typing import Any


def lazy_api(package: str, file: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose ``__init__.py``, ``file``, imports its names for type checkers, under
    ``if TYPE_CHECKING``: `graded-kernels --help` does not wait for PyTorch and Triton.
    """
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    relative = [(alias.name, f"{'.' * node.level}{node.module}") for node in imports for alias in node.names]
    home = {name: resolve_name(module, package) for name, module in relative}

    def get(name: str) -> Any:
        if name not in home:
            close = difflib.get_close_matches(name, home, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        module = importlib.import_module(home[name])
        try:
            return getattr(module, name)
        except AttributeError:
            return importlib.import_module(f"{home[name]}.{name}")

    return get
