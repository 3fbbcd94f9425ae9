"""Makes the record of a launch in the process that runs the kernel, from its arguments or the emulator's notes."""

import contextlib
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

from .kernel_launch import KernelLaunch, is_constant
from .surroundings import Surroundings

_BUFFER_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class _Tensor:
    """kind: "*bf16". aligned: to 16 bytes. small: within the reach of AMD's buffer instructions."""

    kind: str
    aligned: bool
    small: bool


def launch_of(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], source: str) -> KernelLaunch:
    """Describes a launch ``fn[grid](*args, **kwargs)`` as Triton's own launcher would specialise it.

    fn: what ``@triton.jit`` made, interpreted or not. kwargs may hold options such as ``num_warps``.
    source: text of the module that defines the kernel: a file, or the cells of a notebook joined.
    Raises TypeError for an argument that cannot be described: a tuple whose items have names, an unknown dtype.
    """
    signature = inspect.signature(fn.fn)
    bound = signature.bind(*args, **{k: v for k, v in kwargs.items() if k in signature.parameters})
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    options = {k: v for k, v in kwargs.items() if k not in arguments and k not in ("grid", "warmup")}
    return _describe(fn.fn, arguments, options, source)


def recorded(record: Any, source: str) -> KernelLaunch:
    """Describes a launch that the emulator noted, an `emulator.launch.Launch`.

    Raises TypeError as `launch_of` does.
    """
    arguments = {}
    for argument in record.arguments:
        if argument.kind != "tensor":
            arguments[argument.name] = argument.value
            continue
        reach = 1 + sum((size - 1) * abs(step) for size, step in zip(argument.shape, argument.stride, strict=True))
        arguments[argument.name] = _Tensor(argument.type, argument.divisible, reach * 8 <= _BUFFER_LIMIT)
    return replace(_describe(record.kernel, arguments, dict(record.options), source), size=_size(record))


def _size(record: Any) -> dict[str, Any]:
    """Returns how large a launch is that the emulator noted. What a view repeats is read from one place."""
    import torch

    tensors = [argument for argument in record.arguments if argument.kind == "tensor"]
    counts = [math.prod(n for n, step in zip(tensor.shape, tensor.stride, strict=True) if step) for tensor in tensors]
    bytes_ = sum(count * getattr(torch, tensor.dtype).itemsize for count, tensor in zip(counts, tensors, strict=True))
    numbers = {
        argument.name: argument.value
        for argument in record.arguments
        if argument.kind == "scalar" and isinstance(argument.value, int)
    }
    return {"grid": [*record.grid], "numbers": numbers, "elements": max(counts, default=0), "bytes": bytes_}


def _tensor(value: Any) -> _Tensor:
    from triton.runtime.jit import mangle_type

    base = value.base if type(value).__name__ == "TensorWrapper" else value
    # A device allocator hands out memory aligned to 256 bytes or more, this machine's need not: only the place inside
    # the allocation tells what the address would have been on a GPU.
    offset = base.storage_offset() * base.element_size()
    return _Tensor(mangle_type(value), offset % 16 == 0, base.untyped_storage().nbytes() <= _BUFFER_LIMIT)


def _describe(
    function: FunctionType, arguments: Mapping[str, object], options: Mapping[str, object], source: str
) -> KernelLaunch:
    signature: dict[str, str] = {}
    constants: dict[str, object] = {}
    divisible: list[str] = []
    small: list[str] = []

    def add(name: str, parameter: Any, value: Any) -> None:
        if type(value) is tuple and not parameter.is_constexpr:
            for number, item in enumerate(value):
                add(f"{name}.{number}", parameter, item)
            return
        value = _tensor(value) if hasattr(value, "data_ptr") else value
        kind, aligned = ("constexpr", False) if parameter.is_constexpr else _specialise(function, parameter, value)
        if kind == "constexpr":
            constants[name] = _constant(function, name, value)
            return
        signature[name] = kind
        divisible.extend([name] if aligned else [])
        small.extend([name] if getattr(value, "small", False) else [])

    for parameter in _parameters(function):
        add(parameter.name, parameter, arguments[parameter.name])
    options = {name: value for name, value in options.items() if value is not None}
    around, name = Surroundings(function).names(), function.__name__
    return KernelLaunch(
        name, source, signature, constants, tuple(divisible), tuple(small), options, **around, allocates=_allocates()
    )


def _allocates() -> bool:
    """Returns whether `triton.set_allocator` has been called in this process."""
    from ..borrowed import allocator

    return type(allocator.get()).__name__ != "NullAllocator"


def _parameters(function: FunctionType) -> list[Any]:
    from triton.runtime.jit import KernelParam

    decorated = function.__globals__.get(function.__name__)
    while decorated is not None and not inspect.isfunction(getattr(decorated, "fn", None)):
        decorated = getattr(decorated, "fn", None)  # out of autotune and heuristics: an autotuner has no such options
    options = getattr(decorated, "kwargs", None) or getattr(decorated, "__dict__", {})  # the interpreter: in ``kwargs``
    fixed = options.get("do_not_specialize") or ()
    fixed_alignment = options.get("do_not_specialize_on_alignment") or ()
    return [
        KernelParam(i, p, i in fixed or p.name in fixed, i in fixed_alignment or p.name in fixed_alignment)
        for i, p in enumerate(inspect.signature(function).parameters.values())
    ]


def _specialise(function: FunctionType, parameter: Any, value: object) -> tuple[str, bool]:
    """The type of an argument and whether it is known to be divisible by 16, by what Triton's launcher calls."""
    from triton.backends.compiler import BaseBackend

    from ..borrowed import native_specialize_impl

    specialise, align = not parameter.do_not_specialize, not parameter.do_not_specialize_on_alignment
    declared = parameter.annotation_type
    if isinstance(value, _Tensor):
        kind = value.kind.replace("*", "*k") if parameter.is_const else value.kind
        return declared or kind, value.aligned and specialise and align
    if declared and (declared == "u1" or declared[:2] in ("fp", "bf")):
        return declared, False
    kind = ""
    with contextlib.suppress(Exception):
        kind, note = native_specialize_impl(BaseBackend, value, parameter.is_const, specialise, align)
    if not kind or not isinstance(kind, str) or kind.startswith("nvTmaDesc"):
        raise TypeError(_unknown(f"argument {parameter.name}", function, value))
    return (kind if kind == "constexpr" else declared or kind), note == "D"


def _constant(function: FunctionType, name: str, value: Any) -> object:
    if type(value).__name__ == "constexpr":
        value = value.value
    if type(value).__name__ == "dtype" and type(value).__module__.startswith("triton."):
        return {"dtype": value.name}
    if hasattr(value, "fn") and type(value).__module__.startswith("triton."):
        return {"function": value.fn.__name__}
    if isinstance(value, tuple):
        return {"tuple": [_constant(function, name, item) for item in value]}
    if not is_constant(value):
        raise TypeError(_unknown(f"constant {name}", function, value))
    return value


def _unknown(what: str, function: FunctionType, value: object) -> str:
    return f"{what} of {function.__name__} is a {type(value).__name__}, which the compiler report cannot describe"
