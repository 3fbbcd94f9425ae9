"""Private names of libraries that the products rest on: each product's in one module; the simulated GPU's are found."""

import ast
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from graded_kernels.autograder.gpu import borrowed

HOUSE = Path(borrowed.__file__).parents[1]
SOURCES = sorted({*Path(borrowed.__file__).parent.rglob("*.py")} - {Path(borrowed.__file__)})
DOCUMENTED = re.compile(r"triton(\.language(\.extra\..*)?|\.testing)?")  # modules of Triton
PYTHONS = {"_asdict", "_exit", "_fields", "_replace", "_getframe"}  # documented by Python


def is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def is_pythons(name: str) -> bool:
    """Whether it is of a module of Python's that is documented."""
    module = name.split(".")[0]
    return module in sys.stdlib_module_names and not is_private(module)


def imported(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and full name of what a module imports that is not the house's."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def defined(nodes: list[ast.AST]) -> set[str]:
    """Names that a module gives to attributes, functions, classes and variables, arguments included."""
    stored = (node for node in nodes if type(getattr(node, "ctx", None)) is ast.Store)
    names = {getattr(node, "attr", getattr(node, "id", "")) for node in stored}
    return names | {node.name for node in nodes if type(node) in (ast.FunctionDef, ast.ClassDef)}


def private_names(sources: list[Path]) -> list[str]:
    """``file:line: name`` of each private name of a library that the modules use, but for their own."""
    modules = {path: [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))] for path in sources}
    ours = PYTHONS.union(*map(defined, modules.values()))
    found = []
    for path, nodes in modules.items():
        names = [(line, name) for line, name in imported(nodes) if is_private(name) and not is_pythons(name)]
        attributes = (node for node in nodes if type(node) is ast.Attribute)
        names += [(one.lineno, one.attr) for one in attributes if is_private(one.attr) and one.attr not in ours]
        found += [f"{path.name}:{line}: {name}" for line, name in names]
    return found


@pytest.mark.parametrize("product", sorted(path.name for path in HOUSE.iterdir() if (path / "__init__.py").exists()))
def test_no_other_module_of_a_product_uses_a_private_name(product):
    sources = sorted((HOUSE / product).rglob("*.py"))
    lent = [path for path in sources if path.name == "borrowed.py"]
    assert len(lent) == (product != "words")
    assert private_names([path for path in sources if path not in lent]) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("from torch._subclasses import fake_tensor", "torch._subclasses.fake_tensor"),
        ("from triton.runtime.jit import _normalize_ty", "triton.runtime.jit._normalize_ty"),
        ("import torch\ntorch._C.anything()", "_C"),
        ("def taken(tensor): return tensor._version", "_version"),
        ("import numpy._core", "numpy._core"),
        ("import _ctypes", "_ctypes"),
    ],
)
def test_a_private_name_is_seen(tmp_path, text, name):
    (path := tmp_path / "module.py").write_text(f"def _mine(): pass\nmine = _mine\n{text}\n")
    (said,) = private_names([path])
    assert said.endswith(f": {name}")


def is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is no package
        return False


def modules_of_triton(sources: list[Path]) -> set[str]:
    """Those that the sources import, or import from."""
    found = set()
    texts = (path.read_text(encoding="utf-8") for path in sources)
    for text in (text for text in texts if re.search(r"^ *(from|import) triton\.", text, re.MULTILINE)):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("triton"):
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= {name if is_module(name) else str(node.module) for name in whole}
    return {name for name in found if name.split(".")[0] == "triton"}


def test_what_triton_does_not_document_is_listed_and_there():
    used = {name for name in modules_of_triton(sorted(HOUSE.rglob("*.py"))) if not is_private(name)}
    assert {name for name in used if not DOCUMENTED.fullmatch(name)} == borrowed.UNDOCUMENTED.keys()
    assert all(map(is_module, borrowed.UNDOCUMENTED))


def test_every_borrowed_name_is_there_and_needed():
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    for name in borrowed.NAMES:
        assert getattr(borrowed, name) is not None
        assert re.search(rf"\b{name}\b", text), name


def test_a_name_that_is_gone_says_what_does_not_work(monkeypatch):
    monkeypatch.setitem(borrowed.NAMES, "gone", borrowed.Borrowed("torch._C:_gone", "graphs"))
    with pytest.raises(ImportError, match=r"have no torch\._C\._gone any more, .* no judging of: graphs\. Install"):
        borrowed.gone  # noqa: B018
