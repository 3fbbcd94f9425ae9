"""The arguments of a launch: their record, and what a kernel's parameters hold for them."""

import functools
from collections.abc import Container
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.jit import TensorWrapper, mangle_type
from triton.tools.tensor_descriptor import TensorDescriptor

from ..borrowed import implicit_cvt
from . import offsets
from .access import Access
from .address_space import Region
from .handles import numpy_type
from .launch import Argument, Inside

_NOT_SPECIALISED = ("u1", "fp", "bf")  # types of parameters whose numbers Triton leaves open
_SCALARS = {f"{kind}{bits}" for kind in "iu" for bits in (1, 8, 16, 32, 64)} | {"fp16", "bf16", "fp32", "fp64"}


def describe(name: str, value: Any, constexpr: bool, annotation: str) -> Argument:
    """The record of one argument. constexpr, annotation: how the kernel declares its parameter."""
    if constexpr or value is None:
        kind = "constexpr" if constexpr else "none"
        return Argument(name, kind, "constexpr", value.value if isinstance(value, tl.constexpr) else value)
    if hasattr(value, "data_ptr"):
        base = value.base if isinstance(value, TensorWrapper) else value
        return Argument(
            name,
            "tensor",
            mangle_type(value),
            None,
            str(base.dtype).removeprefix("torch."),
            tuple(base.shape),
            tuple(base.stride()),
            (base.storage_offset() + getattr(value, "before", 0)) * base.element_size() % 16 == 0,
        )
    if isinstance(value, bool | int | float | np.number):
        divisible = isinstance(value, int) and not isinstance(value, bool) and value % 16 == 0
        return Argument(name, "scalar", _scalar_type(value, annotation), value, divisible=divisible)
    return Argument(name, "other", _structure(name, value), value)


def _structure(name: str, value: Any) -> str:
    """Returns what a compiler sees of a tuple or a tensor descriptor."""
    if isinstance(value, tuple):
        parts = [describe(name, part, False, "") for part in value]
        fixed = [part.kind == "none" or (part.kind == "scalar" and part.value == 1) for part in parts]
        return f"({', '.join(str(p.value) if is_fixed else p.type for p, is_fixed in zip(parts, fixed, strict=True))})"
    return f"{value.base.dtype}{[*value.block_shape]}" if isinstance(value, TensorDescriptor) else ""


@functools.lru_cache(maxsize=256)
def _type(name: str) -> tl.dtype:
    """The type of a signature's string, which Triton takes apart anew."""
    return tl.str_to_ty(name, None)


def _scalar_type(value: Any, annotation: str) -> str:
    return annotation if annotation in _SCALARS else mangle_type(value)


def scalar(value: Any, annotation: str) -> tl.tensor:
    """A scalar argument as a device receives it: an integer of the type Triton gives it, a Python float as float32."""
    builder = interpreter.interpreter_builder
    dtype = _type(_scalar_type(value, annotation))
    if dtype == tl.bfloat16:
        return tl.tensor(builder.create_fp_trunc(builder.get_fp32(value), dtype), dtype)
    data = np.array([value]).astype(numpy_type(dtype))
    varies = dtype.is_int() and value != 1
    return tl.tensor(offsets.mark(interpreter.TensorHandle(data, dtype), offsets.SIZE if varies else 0), dtype)


class LaunchArguments:
    """Turns the launch's arguments into what the kernel's parameters hold, pointers into virtual addresses.

    unspecialised: parameters whose numbers Triton does not compile into the kernel (``do_not_specialize``).
    """

    def __init__(self, access: Access, names: dict[int, str], unspecialised: Container[str] = ()):
        self.access, self.names, self._unspecialised = access, names, unspecialised

    def convert(self, name: str, value: Any, annotation: str = "") -> Any:
        """Returns what the kernel's parameter holds for an argument: an integer of 1, as the stride of contiguous rows
        is, is a constant of the compiled kernel.
        """
        if type(value) is int and value == 1 and name.split("[")[0] not in self._unspecialised:
            if not annotation.startswith(_NOT_SPECIALISED):
                return value
        if hasattr(value, "data_ptr"):
            return self._pointer(name, value)
        if isinstance(value, bool | int | float | np.number):
            return scalar(value, annotation)
        if isinstance(value, tuple):
            parts = [self.convert(f"{name}[{i}]", part) for i, part in enumerate(value)]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if isinstance(value, TensorDescriptor):
            converted = implicit_cvt(value)
            region = self._region(name, value.base)
            converted.handle.base.data = np.array([region.virtual], dtype=np.uint64)
            return converted
        return value

    def _pointer(self, name: str, value: Any) -> tl.tensor:
        dtype, region = _type(mangle_type(value)), self._region(name, value)
        before = value.before * region.itemsize if isinstance(value, Inside) else 0
        data = np.array([region.virtual + before], dtype=np.uint64)
        return tl.tensor(interpreter.TensorHandle(data, dtype), dtype)

    def _region(self, name: str, value: Any) -> Region:
        base = value.base if isinstance(value, TensorWrapper) else value
        region = self.access.space.add(name, base, base.shape, base.stride(), base.element_size())
        region.given = self.names.get(region.address, "")
        return region
