"""Signatures of what people import: the op library and the PyTorch answers say their types, in chapters too."""

import ast
from collections.abc import Iterator
from pathlib import Path

import graded_kernels.kernels
import graded_kernels.solutions


def public_functions(module: Path) -> Iterator[ast.FunctionDef]:
    """The functions at the top of a file, without kernels: what is annotated there means something to Triton."""
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            if not any("triton." in ast.unparse(decorator) for decorator in node.decorator_list):
                yield node


def untyped(function: ast.FunctionDef) -> bool:
    args = function.args
    parameters = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    return function.returns is None or any(p is not None and p.annotation is None for p in parameters)


def test_public_functions_are_annotated():
    """Except `kernels.wild`, which is kept as it shipped."""
    modules = [p for package in (graded_kernels.kernels, graded_kernels.solutions) for p in folder(package)]
    functions = [(module.name, function) for module in modules for function in public_functions(module)]
    assert len(functions) > 200, "the files were found"
    assert [f"{name}: {function.name}" for name, function in functions if untyped(function)] == []


def folder(package) -> list[Path]:
    return sorted(Path(package.__file__).parent.glob("*.py"))
