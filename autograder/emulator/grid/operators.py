"""Python's operators on tensors, without Triton's language layer where it would change nothing.

For operands of one type that is computed in as it is, and for such an operand and a number that fits it, the layer's
answer is known: broadcast, then one operation of the builder. Everything else (mixed types, halves, unsigned integers,
pointers, mistakes) goes through the layer as ever. `tests` hold the two together.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from ..handles import numpy_type

_FLOATS, _INTEGERS = ("fp32", "fp64"), ("int32", "int64")
_NUMBERS = {("fp32", float), ("fp32", int), ("int32", int), ("int64", int)}  # a number becomes a value of this type

# (operator, its mirror for a number on the left, on floats, on integers, whether it compares)
_OPERATORS = (
    ("__add__", "__radd__", "create_fadd", "create_add", False),
    ("__sub__", "__rsub__", "create_fsub", "create_sub", False),
    ("__mul__", "__rmul__", "create_fmul", "create_mul", False),
    ("__truediv__", "__rtruediv__", "create_fdiv", "", False),
    ("__lt__", "", "create_fcmpOLT", "create_icmpSLT", True),
    ("__le__", "", "create_fcmpOLE", "create_icmpSLE", True),
    ("__gt__", "", "create_fcmpOGT", "create_icmpSGT", True),
    ("__ge__", "", "create_fcmpOGE", "create_icmpSGE", True),
)


def operators() -> dict[str, Callable]:
    """Quicker operators by name, on top of those that `tl.tensor` has now."""
    made = {}
    for name, mirror, floats, integers, compares in _OPERATORS:
        table = {kind: floats for kind in _FLOATS} | ({kind: integers for kind in _INTEGERS} if integers else {})
        made[name] = _operator(getattr(tl.tensor, name), table, compares, mirrored=False)
        if mirror:
            made[mirror] = _operator(getattr(tl.tensor, mirror), table, compares, mirrored=True)
    return made


def _operator(slow: Callable, table: dict[str, str], compares: bool, mirrored: bool) -> Callable:
    def operator(self, other):
        kind = self.dtype.name
        method = table.get(kind)
        if method is None:
            return slow(self, other)
        other = other.value if type(other) is tl.constexpr else other
        if type(other) is not tl.tensor:
            fits = (kind, type(other)) in _NUMBERS and _fits(kind, other)
            if not fits:
                return slow(self, other)
            one, two = self, _constant(kind, _shape(self), other, math.copysign(1, other))
        elif other.dtype.name == kind:
            one, two = interpreter.interpreter_semantic.broadcast_impl_value(self, other)
        else:
            return slow(self, other)
        if mirrored:
            one, two = two, one
        handle = getattr(interpreter.interpreter_builder, method)(one.handle, two.handle)
        return tl.tensor(handle, one.type.with_element_ty(tl.int1) if compares else one.type)

    return operator


def _shape(tensor: tl.tensor) -> tuple[int, ...]:
    return tuple(tensor.type.shape) if tensor.type.is_block() else ()


def _fits(kind: str, number: float) -> bool:
    """A number that the layer turns into this type: no wider integer, no subnormal or overflowing float."""
    if type(number) is int:
        return -(2**31) <= number < 2**31
    return number == 0 or 2**-126 <= abs(number) <= (2 - 2**-23) * 2**127


@functools.lru_cache(maxsize=4096)
def _constant(kind: str, shape: tuple[int, ...], number: float, sign: float) -> tl.tensor:
    """A number as a tensor, the same for all programs. ``sign`` tells -0.0 from 0.0 in the cache."""
    dtype = getattr(tl, {"fp32": "float32"}.get(kind, kind))
    value = np.array([number]).astype(numpy_type(dtype))
    data = np.broadcast_to(value.reshape(1, *(1,) * len(shape)), (1, *shape)) if shape else value
    return tl.tensor(TensorHandle(data, dtype), tl.block_type(dtype, list(shape)) if shape else dtype)
