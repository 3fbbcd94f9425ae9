"""What Triton's language works out anew for every operation and never changes: remembered. No result depends on it."""

import triton.language as tl
from triton.runtime import interpreter

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
    """A quicker ``broadcast_impl_value``: two blocks of one shape are what they were, and a scalar fills a block."""

    def broadcast_impl_value(lhs, rhs):
        one, other = lhs.type, rhs.type
        if not one.is_block():
            return (_filled(other, lhs), rhs) if other.is_block() else (lhs, rhs)
        if not other.is_block():
            return lhs, _filled(one, rhs)
        key = one.name, other.name
        if key not in _alike:
            _alike[key] = list(one.shape) == list(other.shape)
        return (lhs, rhs) if _alike[key] else original(lhs, rhs)

    return broadcast_impl_value


_alike: dict[tuple[str, str], bool] = {}  # whether two blocks have one shape, by the names of their types


def _filled(block, scalar):
    kind = _with_element(block, scalar.type.scalar)
    return tl.tensor(interpreter.interpreter_builder.create_splat(kind, scalar.handle), kind)


_elements: dict[tuple[str, str], tl.block_type] = {}


def _with_element(block, element):
    """``block.with_element_ty(element)``, remembered. A pointer's name does not tell its address space."""
    if element.is_ptr():
        return block.with_element_ty(element)
    key = block.name, element.name
    if key not in _elements:
        _elements[key] = block.with_element_ty(element)
    return _elements[key]


_INTEGERS, _FLOATS = ("int32", "int64"), ("fp32", "fp64")
# From and to which types one operation of the builder converts, and what it takes besides them.
_CONVERSIONS = {
    **dict.fromkeys([("fp64", "fp32"), ("fp32", "fp16"), ("fp32", "bf16")], ("create_fp_trunc",)),
    **dict.fromkeys([("fp32", "fp64"), ("fp16", "fp32"), ("bf16", "fp32")], ("create_fp_ext",)),
    **dict.fromkeys([("int32", "int64"), ("int64", "int32")], ("create_int_cast", True)),
    **{(one, other): ("create_si_to_fp",) for one in _INTEGERS for other in _FLOATS},
    **{(one, other): ("create_fp_to_si",) for one in _FLOATS for other in _INTEGERS},
}


def cast(original):
    """A quicker ``cast`` between the usual types, rounded to nearest even."""

    def convert(input, dst_ty, fp_downcast_rounding=None):
        one, other = input.type.scalar.name, dst_ty.name
        if one == other:
            return input
        conversion = _CONVERSIONS.get((one, other)) if fp_downcast_rounding is None else None
        if conversion is None:
            return original(input, dst_ty, fp_downcast_rounding)
        method, *more = conversion
        kind = _with_element(input.type, dst_ty) if input.type.is_block() else dst_ty
        return tl.tensor(getattr(interpreter.interpreter_builder, method)(input.handle, kind, *more), kind)

    return convert


def promote(original):
    """A quicker ``binary_op_type_checking_impl``: for operands of one usual type, and a float32 beside a number, which
    takes its type. more: whether either may be a pointer, which neither is here; a third one is left to Triton.
    """

    def binary_op_type_checking_impl(lhs, rhs, *more, **named):
        semantic = interpreter.interpreter_semantic
        one, other = _usual(lhs), _usual(rhs)
        if one and one == other and one != "number":
            return semantic.broadcast_impl_value(lhs, rhs)
        if len(more) <= 2 and not named and {one, other} == {"fp32", "number"}:
            if one == "number":
                lhs = semantic.scalar_constant(lhs, dtype=tl.float32)
            else:
                rhs = semantic.scalar_constant(rhs, dtype=tl.float32)
            return semantic.broadcast_impl_value(lhs, rhs)
        return original(lhs, rhs, *more, **named)

    return binary_op_type_checking_impl


def _usual(value) -> str:
    """The element type of a tensor where it is one of the usual ones, "number" for one that Triton can represent."""
    if type(value) is tl.tensor:
        name = value.type.scalar.name
        return name if name in _FLOATS or name in _INTEGERS else ""
    return "number" if type(value) is float or (type(value) is int and -(2**31) <= value < 2**31) else ""


_products: dict[tuple, tl.dtype] = {}  # the types of products, by the names of the factors' types and what else decides


def dot(original):
    """A quicker ``dot``: factors of the types and shapes of an earlier one are not tried again."""

    def product(lhs, rhs, acc, input_precision, max_num_imprecise_acc, out_dtype):
        key = None
        if acc is not None and input_precision is not None and max_num_imprecise_acc is None:
            if lhs.dtype.name in ("fp32", "fp16", "bf16"):
                asked = out_dtype and out_dtype.name  # from Triton 3.8 on None, which takes the accumulator's
                key = lhs.type.name, rhs.type.name, acc.type.name, input_precision, asked
        if key not in _products:
            result = original(lhs, rhs, acc, input_precision, max_num_imprecise_acc, out_dtype)
            if key:
                _products[key] = result.type
            return result
        precision = interpreter.interpreter_semantic._str_to_dot_input_precision(input_precision)
        builder = interpreter.interpreter_builder
        return tl.tensor(builder.create_dot(lhs.handle, rhs.handle, acc.handle, precision, 0), _products[key])

    return product
