"""Says what Triton's language works out anew for every operation and never changes: remembered. No result depends on
it.
"""

from collections.abc import Callable
from typing import Any

import triton.language as tl
from triton.runtime import interpreter

_blocks: dict[tuple[Any, ...], dict[str, Any]] = {}  # attributes of a block type, by its element type's name and shape
_shapes: dict[str, tuple[Any, ...]] = {}  # shape and number of elements of a tensor, by the name of its type
_sound: set[tuple[str, int]] = set()  # a handle's type by name, and the size of its elements, that fit each other
_alike: dict[tuple[str, str], bool] = {}  # whether two blocks have one shape, by the names of their types
_ATTRIBUTES = {"handle", "type", "dtype", "shape", "numel"}

Init = Callable[..., None]


def block_type(original: Init) -> Init:
    """A quicker ``block_type.__init__``."""

    def init(self: tl.block_type, element_ty: tl.dtype, shape: list[Any]) -> None:
        sizes = [size.value if isinstance(size, tl.constexpr) else size for size in shape]
        key = (element_ty.name, *sizes)
        cached = _blocks.get(key)
        if cached is None:
            original(self, element_ty, shape)
            _blocks[key] = dict(vars(self))
        else:
            vars(self).update(cached)
            self.element_ty = element_ty

    return init


def tensor(original: Init) -> Init:
    """A quicker ``tensor.__init__``."""

    def init(self: tl.tensor, handle: interpreter.TensorHandle, type: tl.dtype) -> None:
        cached = _shapes.get(type.name)
        if cached is None:
            original(self, handle, type)
            if vars(self).keys() == _ATTRIBUTES:
                _shapes[type.name] = self.shape, self.numel
            return
        self.handle, self.type, self.dtype = handle, type, type.scalar
        self.shape, self.numel = cached

    return init


def handle(original: Init) -> Init:
    """A quicker ``TensorHandle.__init__``: whether a type can hold elements of this size is asked once."""

    def init(self: interpreter.TensorHandle, data: Any, dtype: tl.dtype, *more: Any, **named: Any) -> None:
        key = dtype.name, data.itemsize
        if more or named or key not in _sound:
            original(self, data, dtype, *more, **named)
            if vars(self).keys() == {"data", "dtype", "attr"}:
                _sound.add(key)
            return
        self.data, self.dtype, self.attr = data, dtype, {}

    return init


def equal(original: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """A quicker ``dtype.__eq__``: the names alone decide between two element types."""

    def __eq__(self: tl.dtype, other: Any) -> bool:
        return bool(self.name == other.name) if type(other) is tl.dtype else original(self, other)

    return __eq__


def broadcast(original: Callable[..., Any]) -> Callable[..., Any]:
    """A quicker ``broadcast_impl_value``: two blocks of one shape are what they were, and a scalar fills a block."""

    def broadcast_impl_value(lhs: tl.tensor, rhs: tl.tensor) -> Any:
        left, other = lhs.type, rhs.type
        if not left.is_block():
            return (_filled(other, lhs), rhs) if other.is_block() else (lhs, rhs)
        if not other.is_block():
            return lhs, _filled(left, rhs)
        key = left.name, other.name
        if key not in _alike:
            _alike[key] = list(left.shape) == list(other.shape)
        return (lhs, rhs) if _alike[key] else original(lhs, rhs)

    return broadcast_impl_value


def _filled(block: tl.block_type, scalar: tl.tensor) -> tl.tensor:
    kind = block.with_element_ty(scalar.type.scalar)
    return tl.tensor(interpreter.interpreter_builder.create_splat(kind, scalar.handle), kind)
