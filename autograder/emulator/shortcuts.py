"""What Triton's language works out anew for every operation and never changes: remembered. No result depends on it."""

import triton.language as tl

_blocks: dict[tuple, dict] = {}  # attributes of a block type, by the name of its element type and its shape
_shapes: dict[str, tuple] = {}  # shape and number of elements of a tensor, by the name of its type
_sound: set[tuple[str, int]] = set()  # a handle's type by name, and the size of its elements, that fit each other
_ATTRIBUTES = {"handle", "type", "dtype", "shape", "numel"}


def block_type(original):
    """A quicker ``block_type.__init__``."""

    def init(self, element_ty, shape):
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


def tensor(original):
    """A quicker ``tensor.__init__``."""

    def init(self, handle, type):
        cached = _shapes.get(type.name)
        if cached is None:
            original(self, handle, type)
            if vars(self).keys() == _ATTRIBUTES:
                _shapes[type.name] = self.shape, self.numel
            return
        self.handle, self.type, self.dtype = handle, type, type.scalar
        self.shape, self.numel = cached

    return init


def handle(original):
    """A quicker ``TensorHandle.__init__``: whether a type can hold elements of this size is asked once."""

    def init(self, data, dtype, *more, **named):
        key = dtype.name, data.itemsize
        if more or named or key not in _sound:
            original(self, data, dtype, *more, **named)
            if vars(self).keys() == {"data", "dtype", "attr"}:
                _sound.add(key)
            return
        self.data, self.dtype, self.attr = data, dtype, {}

    return init


def equal(original):
    """A quicker ``dtype.__eq__``: of two element types the names alone decide."""

    def __eq__(self, other):
        return self.name == other.name if type(other) is tl.dtype else original(self, other)

    return __eq__


def broadcast(original):
    """A quicker ``broadcast_impl_value``: two blocks of one shape are what they were."""

    def broadcast_impl_value(lhs, rhs):
        one, other = lhs.type, rhs.type
        if one.is_block() and other.is_block() and list(one.shape) == list(other.shape):
            return lhs, rhs
        return original(lhs, rhs)

    return broadcast_impl_value
