"""What a kernel may reach while it is compiled: Triton's language, and nothing else. Imports nothing of this package.

Compiling evaluates the calls in a kernel, so every name is followed here before the compiler sees it.
"""

import ast
import importlib
import re
import types

MODULES = re.compile(r"triton|math|triton\.language(\.(core|math|standard|random|target_info|extra(\.\w+)*))?")
# What tensors, dtypes and constants have beside what their classes show.
INSTANCE = {"shape", "numel", "type", "dtype", "element_ty", "address_space", "scalar", "name", "primitive_bitwidth"}
INSTANCE |= {"int_bitwidth", "fp_mantissa_width", "exponent_bias", "int_signedness", "value", "values", "block_shape"}
INSTANCE |= {"ALL", "NONE"}  # of PropagateNan


class Refusal(Exception):
    def __init__(self, message, function=None, line=None):
        super().__init__(message)
        self.function, self.line = function, line


class Opaque:
    """Stands for a module-level value that no kernel can use; the compiler says so."""


def imported(module, name):
    if not MODULES.fullmatch(module):
        return Opaque()
    try:
        found = importlib.import_module(module)
        if name:
            found = getattr(found, name) if hasattr(found, name) else importlib.import_module(f"{module}.{name}")
    except ImportError:
        return Opaque()
    return found if in_language(found) else Opaque()


def in_language(found):
    """A public part of Triton's language, or of ``math``: what a call in a kernel may run while compiling."""
    if isinstance(found, types.ModuleType):
        return MODULES.fullmatch(found.__name__) is not None
    import triton.language as tl

    if type(found).__module__.startswith("triton.runtime."):  # a kernel of Triton's own; the interpreter's has no home
        found = getattr(found, "fn", found)
    home = getattr(found, "__module__", None) or type(found).__module__
    return not callable(found) or found is tl.PropagateNan or MODULES.fullmatch(home) is not None


def check_names(name, tree, names):
    """Every dotted name stays in the language, every other attribute is one of a tensor, a dtype or a constant."""
    import triton.language as tl

    classes = (tl.tensor, tl.dtype, tl.block_type, tl.pointer_type, tl.constexpr, tl.tuple, tl.tensor_descriptor)
    known = INSTANCE.union(*map(dir, classes)) - {"handle"}
    inner = {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute | ast.Name) or node in inner:
            continue
        chain, root = [], node
        while isinstance(root, ast.Attribute):
            chain.insert(0, root.attr)
            root = root.value
        value = names.get(root.id) if isinstance(root, ast.Name) else None
        while isinstance(value, types.ModuleType) and chain:
            path, value = f"{value.__name__}.{chain[0]}", getattr(value, chain.pop(0), value)
            if not in_language(value) and value is not None:
                raise Refusal(f"{path} is not part of Triton's language", name, node.lineno - 1)
        for attribute in chain:
            if attribute not in known:
                message = f".{attribute}: tensors, dtypes and constants have no such attribute"
                raise Refusal(f"{message}, and a kernel has no other objects", name, node.lineno - 1)
