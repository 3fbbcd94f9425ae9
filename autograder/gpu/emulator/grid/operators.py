"""Python's operators on tensors, without Triton's language layer where it would change nothing.

For operands of one type that is computed in as it is, for an int32 and an int64, a pointer and an offset, and such an
operand and a number that fits it, the layer's answer is known: the wider type, the common shape, then one operation of
the builder. So is that of an index of ``:`` and ``None``. Everything else (other mixed types, halves, unsigned
integers, mistakes) goes through the layer as ever. `tests` hold the two together.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from ..handles import kept, numpy_type
from .pointers import Pointer

_FLOATS, _INTEGERS, _BITS = ("fp32", "fp64"), ("int32", "int64"), ("int1", "int32", "int64")
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
_BITWISE = (("__and__", "create_and"), ("__or__", "create_or"))
_NAMES = ("__getitem__", *(form for row in _OPERATORS for form in row[:2] if form), *(name for name, _ in _BITWISE))


_plans: dict[str, dict[tuple[str, str], "_Plan | None"]] = {}  # of each operator, by the names of both types


def operators() -> dict[str, Callable[..., Any]]:
    """Quicker operators by name, on top of those that `tl.tensor` has now."""
    return _quicker(*(getattr(tl.tensor, name) for name in _NAMES))


@functools.lru_cache(maxsize=4)  # asked at every launch
def _quicker(*now: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    slow = dict(zip(_NAMES, now, strict=True))
    methods = {"__getitem__": _index(slow["__getitem__"])}
    for name, mirror, floats, integers, compares in _OPERATORS:
        table = {kind: floats for kind in _FLOATS} | ({kind: integers for kind in _INTEGERS} if integers else {})
        for form in filter(None, (name, mirror)):
            methods[form] = _operator(form, slow[form], table, compares, mirrored=form == mirror)
    for name, method in _BITWISE:
        methods[name] = _operator(name, slow[name], {kind: method for kind in _BITS})
    return methods


def _operator(
    name: str, slow: Callable[..., Any], table: dict[str, str], compares: bool = False, mirrored: bool = False
) -> Callable[..., Any]:
    plans = _plans.setdefault(name, {})
    numbers = "int1" not in table  # a number beside bits is rare

    def operator(self: tl.tensor, other: Any) -> Any:
        other = other.value if type(other) is tl.constexpr else other
        if type(other) is not tl.tensor:
            kind = self.dtype.name
            if not (numbers and kind in table and (kind, type(other)) in _NUMBERS and _fits(kind, other)):
                return slow(self, other)
            other = _constant(kind, other)
        key = self.type.name, other.type.name
        if key not in plans:
            plans[key] = _plan(self.type, other.type, table, compares, pointers=name == "__add__")
        plan = plans[key]
        if plan is None:
            return slow(self, other)
        builder, left, right = interpreter.interpreter_builder, self.handle, other.handle
        if plan.elements > builder.widest:
            builder.widen(plan.elements)
        if plan.changes:
            left, right = plan.operands(left, right)
        if mirrored:
            left, right = right, left
        return tl.tensor(getattr(builder, plan.method)(left, right), plan.type)

    return operator


@dataclass(frozen=True)
class _Plan:
    """One operation of the builder, ``method``, and its result's ``type``.

    wider: the type to which the left and the right operand are converted, or None. axes: those that each of them gets
    in front, after that of the programs. Along axes of one element numpy repeats what the layer would have repeated.
    """

    method: str
    type: tl.dtype
    elements: int
    wider: tuple[tl.dtype | None, tl.dtype | None]
    axes: tuple[int, ...]

    @functools.cached_property
    def changes(self) -> bool:
        """Returns whether an operand is anything but what it was."""
        return any(self.wider) or any(self.axes)

    def operands(self, *handles: TensorHandle) -> tuple[TensorHandle, ...]:
        """The operands as the builder's operation takes them."""
        return tuple(map(_operand, handles, self.wider, self.axes))


def _operand(handle: TensorHandle, wider: tl.dtype | None, axes: int) -> TensorHandle:
    if wider is not None:
        handle = kept(TensorHandle(handle.data.astype(np.int64), wider), handle)
    if not axes or (not isinstance(handle, Pointer) and handle.data.size == 1):
        return handle  # numpy puts the axes in front of a single element by itself

    def reshaped(data: np.ndarray) -> np.ndarray:
        return data[(slice(None), *(None,) * axes)]

    if isinstance(handle, Pointer):
        return kept(handle.moved(reshaped), handle)
    return kept(TensorHandle(reshaped(handle.data), handle.dtype), handle)


def _plan(left: tl.dtype, other: tl.dtype, table: dict[str, str], compares: bool, pointers: bool) -> _Plan | None:
    """None where the layer has more to do, or an error to tell."""
    a, b = left.scalar, other.scalar
    wider: tuple[Any, ...] = (None, None)
    if pointers and a.is_ptr() and b.name in _INTEGERS:
        method, dtype = "create_addptr", a
    elif a.name == b.name and a.name in table:
        method, dtype = table[a.name], a
    elif {a.name, b.name} == set(_INTEGERS) and "int64" in table:
        method, dtype = table["int64"], tl.int64
        wider = tuple(tl.int64 if side.name == "int32" else None for side in (a, b))
    else:
        return None
    shapes = [tuple(side.shape) if side.is_block() else () for side in (left, other)]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        return None
    dtype = tl.int1 if compares else dtype
    kind = tl.block_type(dtype, list(shape)) if shape else dtype
    return _Plan(method, kind, math.prod(shape), wider, tuple(len(shape) - len(side_shape) for side_shape in shapes))


_indexed: dict[
    tuple[str, tuple[int, ...]], tl.dtype
] = {}  # types, by the name of the indexed one and the places of None


def _index(slow: Callable[..., Any]) -> Callable[..., Any]:
    def getitem(self: tl.tensor, index: Any) -> Any:
        if type(index) is not tuple:
            return slow(self, index)
        places = []
        for place, i in enumerate(index):
            if i is None:
                places.append(place)
            elif type(i) is not slice or i != _WHOLE:
                return slow(self, index)
        new = tuple(places)
        key = self.type.name, new
        if key not in _indexed:
            if not self.type.is_block() or len(index) - len(new) > len(self.type.shape):
                return slow(self, index)
            shape = list(self.type.shape)
            for place in new:
                shape.insert(place, 1)
            _indexed[key] = tl.block_type(self.dtype, shape)
        handle, at = self.handle, (_WHOLE, *index)
        if isinstance(handle, Pointer):
            return tl.tensor(kept(handle.moved(lambda offsets: offsets[at]), handle), _indexed[key])
        return tl.tensor(kept(TensorHandle(handle.data[at], handle.dtype.scalar), handle), _indexed[key])

    return getitem


_WHOLE = slice(None)


def _fits(kind: str, number: float) -> bool:
    """A number that the layer turns into this type: no wider integer, no subnormal or overflowing float."""
    if type(number) is int:
        return -(2**31) <= number < 2**31
    return number == 0 or 2**-126 <= abs(number) <= (2 - 2**-23) * 2**127


def _constant(kind: str, number: float) -> tl.tensor:
    """A number as a scalar, the same for all programs."""
    dtype = getattr(tl, {"fp32": "float32"}.get(kind, kind))
    return tl.tensor(TensorHandle(np.array([number]).astype(numpy_type(dtype)), dtype), dtype)
