"""Says what a kernel may reach while it is compiled: the names of `names`, and nothing else.

Compiling evaluates the calls in a kernel, so every name is followed here before the compiler sees it.
"""

import ast
import importlib
import re
import types
from collections.abc import Mapping
from typing import Any

from .names import ATTRIBUTES, MODULES

# What has attributes in a kernel. Not among them: text and numbers as they are written.
_OBJECTS = (ast.Name, ast.Call, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp)
# Instructions need no quotation mark. The directives that read a file do, and LLVM's assembler obeys those.
_ASSEMBLY = re.compile(r"[\w\s.,;:@!?%$#{}\[\]()+\-*/|&^~=]*", re.ASCII)


class Refusal(Exception):
    """Why a kernel is not compiled. function: in which it stands, if that is known; line: counted from its ``def``."""

    def __init__(self, message: str, function: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.function, self.line = function, line


class Opaque:
    """Stands for a module-level value that no kernel can use; the compiler says so."""


def imported(module: str, name: str | None) -> Any:
    """The object that ``import module`` or ``from module import name`` binds. Raises Refusal where that is refused."""
    if module not in MODULES or (name and name not in MODULES[module]):
        raise Refusal(_not_permitted(f"{module}.{name}" if name else module))
    try:
        value = importlib.import_module(module)
        for part in name.split(".") if name else ():
            value = getattr(value, part) if hasattr(value, part) else importlib.import_module(f"{module}.{part}")
    except ImportError:
        return Opaque()
    return value


def check_names(name: str, tree: ast.AST, names: Mapping[str, Any]) -> None:
    """Raises Refusal unless every dotted name of the function is permitted, and every attribute is one of a tensor,
    a dtype or a constant. names: the values that the function's module binds.
    """
    nodes = list(ast.walk(tree))
    inner = {node.value for node in nodes if isinstance(node, ast.Attribute)}
    called = {node.func: node for node in nodes if isinstance(node, ast.Call)}
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    for node in nodes:
        try:
            if isinstance(node, ast.keyword) and (node.arg or "").startswith("_"):
                raise Refusal(f"{node.arg} is private: only Triton's public language can be used here")
            if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load) and node not in inner:
                value = _followed(node, names)
                if getattr(value, "__name__", "") == "inline_asm_elementwise":
                    _check_assembly(called.get(node), {k: v for k, v in names.items() if k not in bound})
        except Refusal as refusal:
            raise Refusal(str(refusal), name, getattr(node, "lineno", 1) - 1) from None


def _followed(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value that a dotted name stands for, as far as it is known before the kernel is compiled."""
    chain: list[str] = []
    root = node
    while isinstance(root, ast.Attribute):
        chain.insert(0, root.attr)
        root = root.value
    if not isinstance(root, _OBJECTS):
        raise Refusal(f".{chain[0]}: what is written as a literal has no attributes in a kernel")
    value = names.get(root.id) if isinstance(root, ast.Name) else None
    while isinstance(value, types.ModuleType) and chain:
        path, attribute = f"{value.__name__}.{chain[0]}", chain.pop(0)
        if not isinstance(value, Constants) and attribute not in MODULES.get(value.__name__, ()):
            raise Refusal(_not_permitted(path))
        value = getattr(value, attribute, None)
    if isinstance(value, types.ModuleType):
        raise Refusal(f"{value.__name__} is a module: name what you need of it")
    for attribute in chain:
        if attribute not in ATTRIBUTES:
            message = f".{attribute}: tensors, dtypes and constants have no such attribute"
            raise Refusal(f"{message}, and a kernel has no other objects")
    return value


def _check_assembly(call: ast.Call | None, names: Mapping[str, Any]) -> None:
    """The text of inline assembly is there to be read, and holds instructions alone."""
    texts = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "asm")] if call else []
    value: Any = names.get(texts[0].id) if len(texts) == 1 and isinstance(texts[0], ast.Name) else None
    value = texts[0].value if len(texts) == 1 and isinstance(texts[0], ast.Constant) else getattr(value, "value", value)
    if not isinstance(value, str):
        raise Refusal("inline assembly is written out in the call, or in a constant of the module")
    if not _ASSEMBLY.fullmatch(value):
        raise Refusal("inline assembly holds instructions: quotation marks and angle brackets are not permitted")


def _not_permitted(path: str) -> str:
    return f"{path} is not part of Triton's language for kernels (the permitted names: compiler/names.py)"


class Constants(types.ModuleType):
    """Holds the numbers that numpy or torch stand for in a kernel."""
