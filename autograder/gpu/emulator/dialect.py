"""Python as Triton's compiler reads it: ``and``, ``or`` and ``not`` on blocks, and what the compiler refuses."""

import ast
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import triton
import triton.language as tl
from triton.compiler.code_generator import CodeGenerator
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

from .builtin_functions import PYTHONS
from .refused import StaticAssertionError
from .single_exit import BESIDE, RESULT

_TRITON = str(Path(triton.__file__).parent)
_SEMANTIC = sys.modules[TritonSemantic.__module__].__file__
# The interpreter's own transformer reads chained comparisons since Triton 3.9, as its compiler does.
_CHAINS = hasattr(interpreter.ASTTransformer, "visit_Compare")
# Visited by the compiler as part of another node, or by the emulator itself.
_PARTS = (
    ast.expr_context,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
    ast.boolop,
    ast.arguments,
    ast.arg,
    ast.keyword,
    ast.Starred,
    ast.Subscript,
    ast.Name,
    ast.FormattedValue,
    ast.comprehension,
    ast.withitem,
    ast.FunctionType,
)


def _is_compiled(kind: type[ast.AST]) -> bool:
    return issubclass(kind, _PARTS) or hasattr(CodeGenerator, f"visit_{kind.__name__}")


class StrictTransformer(interpreter.ASTTransformer):  # type: ignore[misc]  # of a library without types
    """Rewrites a kernel so that Python's logical operators mean what Triton's compiler makes of them."""

    def visit(self, node: ast.AST) -> Any:
        """The node in the kernel that runs."""
        if _is_compiled(type(node)):
            return super().visit(node)
        # Refused when it is reached, not before: the compiler does not read a branch that a constant closes.
        refusal = _refusal(node, f"{type(node).__name__} is Python that Triton cannot compile.")
        return ast.copy_location(ast.Expr(refusal), node) if isinstance(node, ast.stmt) else refusal

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """``a and b`` becomes ``interpreter_semantic.logical("logical_and", lambda: a, lambda: b)``."""
        method = "logical_and" if isinstance(node.op, ast.And) else "logical_or"
        thunks = [_thunk(self.visit(value)) for value in node.values]
        return ast.copy_location(_call("logical", ast.Constant(method), *thunks), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """``not a`` becomes ``interpreter_semantic.logical_not(a)``."""
        node = self.generic_visit(node)
        return ast.copy_location(_call("logical_not", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """The compiler reads ``assert`` as `tl.device_assert`: on a block it asks every lane."""
        node = self.generic_visit(node)
        call = _call("asserted", node.test, node.msg or ast.Constant(ast.unparse(node.test)))
        return ast.copy_location(ast.Expr(ast.copy_location(call, node)), node)

    def visit_For(self, node: ast.For) -> ast.AST:
        """``for i in range(n)`` becomes ``for i in interpreter_semantic.counted(range, n)``."""
        node = self.generic_visit(node)
        if isinstance(node.iter, ast.Call):
            call = _call("counted", node.iter.func, *node.iter.args)
            call.keywords = node.iter.keywords
            node.iter = ast.copy_location(call, node.iter)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """``tl.atomic_add(...)`` as a statement becomes ``interpreter_semantic.unused(tl.atomic_add, ...)``."""
        node = self.generic_visit(node)
        call: Any = node.value
        name = getattr(getattr(call, "func", None), "attr", getattr(getattr(call, "func", None), "id", ""))
        if name.startswith("atomic_"):
            marked = _call("unused", call.func, *call.args)
            marked.keywords = call.keywords
            node.value = ast.copy_location(marked, call)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``isinstance(x, int)`` becomes ``interpreter_semantic.called(isinstance, x, int)``."""
        node = self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id not in PYTHONS:
            return node
        call = _call("called", node.func, *node.args)
        call.keywords = node.keywords
        return ast.copy_location(call, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """``BLOCK.value`` becomes ``interpreter_semantic.content(BLOCK)``: a constant need not be a `tl.constexpr`.
        ``BLOCK.type`` the same.
        """
        node = self.generic_visit(node)
        asked = {"value": "content", "type": "type_of"}.get(node.attr)
        if asked is None or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(_call(asked, node.value), node)

    def visit_List(self, node: ast.List) -> ast.AST:
        """The compiler reads a list as a tuple: it has no ``append``."""
        node = self.generic_visit(node)
        return ast.copy_location(ast.Tuple(elts=node.elts, ctx=node.ctx), node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """``a < b < c`` is refused where this Triton's compiler refuses it."""
        if _CHAINS:
            return super().visit_Compare(node)
        if len(node.ops) > 1:
            return _refusal(node, "this Triton cannot compile a chained comparison; write `(a <= x) & (x < b)`.")
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """``x = 1`` becomes ``x = interpreter_semantic.assigned(1)``; what a function returns stays a constant. Raises
        ValueError for ``x = y = 1``.
        """
        if len(node.targets) > 1:
            raise ValueError("Multiple assignments are not supported")
        node = self.generic_visit(node)
        if isinstance(node.targets[0], ast.Name) and node.targets[0].id == RESULT:
            return _beside(node)
        node.value = ast.copy_location(_call("assigned", node.value), node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """``x: tl.int32 = 1`` assigns as ``x = 1`` does, and ``x: tl.constexpr = 1`` keeps a constant."""
        node = self.generic_visit(node)
        if node.value is not None:
            node.value = ast.copy_location(_call("assigned", node.value, node.annotation), node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """``x += 1`` is read as ``x = x + 1``."""
        if not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        operand = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = ast.copy_location(ast.BinOp(operand, node.op, node.value), node)
        return self.visit(ast.copy_location(ast.Assign([node.target], value), node))


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    semantic = ast.Name(id="interpreter_semantic", ctx=ast.Load())
    return ast.Call(func=ast.Attribute(value=semantic, attr=name, ctx=ast.Load()), args=list(arguments), keywords=[])


def _thunk(value: ast.expr) -> ast.Lambda:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(args=nothing, body=value)


def _beside(node: ast.Assign) -> ast.Assign:
    """``_returned = _beside(_returned, 1)`` as ``_returned = interpreter_semantic.beside(_returned, lambda: 1)``."""
    match node.value:
        case ast.Call(func=ast.Name(id=name), args=[result, *others]) if name == BESIDE:
            node.value = ast.copy_location(_call("beside", result, *map(_thunk, others)), node.value)
    return node


def _refusal(node: ast.AST, why: str) -> ast.Call:
    call = ast.copy_location(_call("refuse", ast.Constant(why)), node)
    call.end_lineno = call.lineno  # a call of several lines counts as made on its last
    return call


def loose(operation: str) -> None:
    """Notes an operation for `limits.CANNOT_SHOW`."""
    interpreter.interpreter_builder.emulator.loose(operation)


def assigned(value: Any, annotation: object = None) -> Any:
    """Returns what a name is bound to: of a number a tensor, also within a tuple, but where it is a `tl.constexpr`."""
    if annotation is tl.constexpr:
        return value
    if isinstance(value, tuple):
        parts = [assigned(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, tl.tuple):
        return tl.tuple([assigned(part) for part in value.values], value.type)
    return interpreter.interpreter_semantic.to_tensor(value, False)


def beside(value: Any, *others: Callable[[], Any]) -> Any:
    """Returns what a function returns, beside what else the compiler reads: a number that another one may stand for is
    a tensor.
    """
    if not isinstance(value, bool | int | float):
        return value
    for other in others:
        try:
            if repr(other()) != repr(value):
                return assigned(value)
        except Exception:  # of a variable that is assigned there
            return assigned(value)
    return value


def asserted(test: Any, message: str) -> None:
    """``assert`` in a kernel. Raises AssertionError."""
    builder = interpreter.interpreter_builder
    if not (builder.holds(test.handle.data) if isinstance(test, tl.tensor) else test):
        raise AssertionError(message)


def static_assert(test: object, message: str = "") -> None:
    """`tl.static_assert`. Raises StaticAssertionError."""
    if not test:
        raise StaticAssertionError(message)


def compiles(error: BaseException | None) -> bool:
    """Returns whether what a kernel raised is anything but a false `tl.static_assert`."""
    while error is not None and not isinstance(error, StaticAssertionError):
        error = error.__cause__
    return error is None


def claimed(name: str, original: Callable[..., Any], input: Any, values: Any) -> Any:
    """`tl.multiple_of` and its like, whose claim is held against the values."""
    if isinstance(input, tl.tensor):
        sizes = [getattr(size, "value", size) for size in (values if isinstance(values, list | tuple) else [values])]
        if len(sizes) == max(1, len(input.shape)):  # what else it is, the original says
            interpreter.interpreter_builder.claim(name, input.handle, sizes)
    return original(input, values)


def logical(method: str, *values: FunctionType) -> Any:
    """``and`` and ``or``: constants short-circuit, tensors never do, and blocks combine lane by lane. In Triton's own
    code, as of `tl.argmax`, what is a block here is a scalar for the compiler.
    """
    of_triton = values[0].__code__.co_filename.startswith(_TRITON)
    tensors = []
    for thunk in values:
        value = thunk()
        if isinstance(value, tl.tensor):
            tensors.append(_as_int1(value))
            if value.type.is_block() and not of_triton:
                loose("logical")
        elif bool(value) == (method == "logical_or"):
            return value
    if not tensors:
        return value
    result = tensors.pop()
    while tensors:
        result = getattr(tensors.pop(), method)(result)
    return result


def logical_not(value: Any) -> Any:
    """``not``: a block lane by lane."""
    return _as_int1(value).__not__() if isinstance(value, tl.tensor) else not value


def _as_int1(value: tl.tensor) -> tl.tensor:
    return value if value.dtype == tl.int1 else value != 0


def truth(value: tl.tensor) -> bool:
    """`bool` of a tensor: Triton's own code asks whether there is a tensor; a kernel asks for a scalar's value."""
    caller = sys._getframe(1).f_code.co_filename
    if caller == _SEMANTIC:
        return True
    shape = tuple(value.type.shape) if value.type.is_block() else ()
    if math.prod(shape) == 1:
        data = value.handle.data
        on = data & 0x7FFF != 0 if value.dtype == tl.bfloat16 else data != 0
        return bool(interpreter.interpreter_builder.decide(on))
    if caller.startswith(_TRITON):
        return True
    raise ValueError(
        f"a block of shape {shape} has no single truth value, and Triton cannot compile a branch on it; use `tl.where`"
    )


def with_constant_stride(make: Callable[..., Any]) -> Callable[..., Any]:
    """Triton's `make_tensor_descriptor`, whose last stride has to be the constant 1: an argument that is 1 is one."""

    def made(base: Any, shape: Any, strides: Any, *rest: Any, **named: Any) -> Any:
        last = strides[-1] if len(strides) else None
        if isinstance(last, tl.tensor) and (last.handle.data == 1).all():
            strides = [*strides[:-1], 1]
        try:
            return make(base, shape, strides, *rest, **named)
        except AssertionError as error:
            each = base.dtype.element_ty.primitive_bitwidth // 8
            lengths = " and ".join(f"{each * int(_number(stride)):,}" for stride in strides)
            raise AssertionError(f"{error}; the strides are {lengths} bytes") from None

    return made


def _number(value: Any) -> Any:
    """The first program's, of a number that a kernel computes with."""
    value = getattr(value, "value", value)
    return value.handle.data.flat[0] if isinstance(value, tl.tensor) else value


def index(value: tl.tensor) -> int:
    """`range` and indexing ask for a scalar's value. (Triton 3.6 asks numpy, which refuses since 2.4.)"""
    return int(interpreter.interpreter_builder.decide(value.handle.data))


_MIRRORS = {"__lt__": "__gt__", "__le__": "__ge__", "__eq__": "__eq__", "__ne__": "__ne__"}
_MIRRORS |= {mirror: name for name, mirror in _MIRRORS.items()}
_MIRRORS |= {f"__{name}__": f"__r{name}__" for name in "add sub mul truediv floordiv mod and or xor".split()}


def constant_operators() -> dict[str, Callable[..., Any]]:
    """Operators of a global `tl.constexpr` that leave a tensor on the right to the tensor's own, as the compiler does:
    ``K * x``. Triton's would make a constant of the result.
    """
    return {
        name: _left_to_tensors(getattr(tl.constexpr, name))
        for name, mirror in _MIRRORS.items()
        if hasattr(tl.constexpr, name) and hasattr(tl.tensor, mirror)
    }


def _left_to_tensors(original: Callable[..., Any]) -> Callable[..., Any]:
    def operator(self: tl.constexpr, other: Any) -> Any:
        return NotImplemented if isinstance(other, tl.tensor) else original(self, other)

    return operator


def transposed(value: tl.tensor) -> tl.tensor:
    """``x.T``."""
    return interpreter.interpreter_semantic.permute(value, (1, 0))


def static_print(*values: object, **options: Any) -> None:
    """`tl.static_print`: a compiler prints when it compiles, once, and not in every program."""
    access = interpreter.interpreter_builder.access
    if access.started == 1:
        print(*values, **({"file": access.printed} if access.printed else {}) | options)


def unused(function: Callable[..., Any], *args: Any, **named: Any) -> object:
    """Calls an atomic that is a statement: the old values are not used."""
    if isinstance(function, interpreter.InterpretedFunction):
        return function(*args, **named)
    builder = interpreter.interpreter_builder
    builder.unused = True
    try:
        return function(*args, **named)
    finally:
        builder.unused = False
