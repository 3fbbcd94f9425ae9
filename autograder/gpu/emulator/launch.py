"""A launch: what was launched, as a record to compile from, and how it is run."""

import functools
import inspect
import operator
from dataclasses import dataclass, fields
from types import FunctionType
from typing import Any, NoReturn

import numpy as np
import torch
import triton.language as tl
from triton.backends.amd.compiler import HIPOptions
from triton.backends.nvidia.compiler import CUDAOptions
from triton.runtime import interpreter
from triton.runtime.jit import TensorWrapper, mangle_type
from triton.tools.tensor_descriptor import TensorDescriptor

from ..borrowed import DisableTorchFunction, implicit_cvt, normalize_ty, on_host, restore_on_device
from . import advice, offsets
from .access import Access
from .findings import EmulatorError, Finding, here, place_of
from .grid import run
from .handles import numpy_type
from .memory import Region
from .refused import Refused


@dataclass(frozen=True)
class Argument:
    """One argument of a launch, as Triton's specialisation sees it.

    kind: ``tensor | scalar | constexpr | none | other`` (a tuple or a tensor descriptor).
    type: Triton's signature string, such as ``*bf16``, ``i32``, ``fp32``; "constexpr" for constexprs and None.
    value: the number or the constexpr's value; None for a tensor.
    divisible: an integer, or a tensor's offset in its allocation in bytes, is a multiple of 16. A device allocates at
        such multiples; where this machine put the allocation does not count.
    """

    name: str
    kind: str
    type: str
    value: Any = None
    dtype: str = ""
    shape: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    divisible: bool = False


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel: its grid, its arguments in order, and options such as num_warps.

    kernel: the Python function under ``@triton.jit``, as it was written.
    """

    kernel: Any
    name: str
    grid: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    options: tuple[tuple[str, Any], ...] = ()


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
            str(value.dtype).removeprefix("torch."),
            tuple(base.shape),
            tuple(base.stride()),
            (base.storage_offset() + getattr(value, "before", 0)) * base.element_size() % 16 == 0,
        )
    if isinstance(value, bool | int | float | np.number):
        divisible = isinstance(value, int) and not isinstance(value, bool) and value % 16 == 0
        return Argument(name, "scalar", _scalar_type(value, annotation), value, divisible=divisible)
    return Argument(name, "other", "", value)


@functools.lru_cache(maxsize=256)
def _type(name: str) -> tl.dtype:
    """The type of a signature's string, which Triton takes apart anew."""
    return tl.str_to_ty(name, None)


def _scalar_type(value: Any, annotation: str) -> str:
    return annotation if annotation in _SCALARS else mangle_type(value)


_MOST_WARPS = 32
_OPTIONS = {field.name for options in (CUDAOptions, HIPOptions) for field in fields(options)}
_SCALARS = {f"{kind}{bits}" for kind in "iu" for bits in (1, 8, 16, 32, 64)} | {"fp16", "bf16", "fp32", "fp64"}


def scalar(value: Any, annotation: str) -> tl.tensor:
    """A scalar argument as a device receives it: an integer of the type Triton gives it, a Python float as float32."""
    builder = interpreter.interpreter_builder
    dtype = _type(_scalar_type(value, annotation))
    if dtype == tl.bfloat16:
        return tl.tensor(builder.create_fp_trunc(builder.get_fp32(value), dtype), dtype)
    data = np.array([value]).astype(numpy_type(dtype))
    # A 1 is a constant of the compiled kernel, as the stride of contiguous rows is.
    varies = dtype.is_int() and value != 1
    return tl.tensor(offsets.mark(interpreter.TensorHandle(data, dtype), offsets.SIZE if varies else 0), dtype)


class Inside(TensorWrapper):  # type: ignore[misc]  # of a library without types
    """A tensor with a pointer into it: ``before`` elements come before the one that it points at."""

    def __init__(self, base: torch.Tensor, before: int):
        super().__init__(base, base.dtype)
        self.before = before


class Arguments:
    """Turns the launch's arguments into what the kernel's parameters hold, pointers into virtual addresses."""

    def __init__(self, access: Access, names: dict[int, str]):
        self.access, self.names = access, names

    def convert(self, name: str, value: Any, annotation: str = "") -> Any:
        """What the kernel's parameter holds for an argument."""
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


def normal_grid(grid: Any, arguments: dict[str, Any], kernel: str) -> tuple[int, int, int]:
    """The grid as three integers. Raises EmulatorError with the reason why a GPU refuses it."""

    def refuse(text: str) -> NoReturn:
        raise EmulatorError(Finding("grid", f"The grid of `{kernel}` {text}", kernel))

    if callable(grid):
        grid = grid(arguments)
    try:
        sizes = tuple(operator.index(g.value if isinstance(g, tl.constexpr) else g) for g in grid)
    except TypeError:
        refuse(f"is {grid!r}; it must be a tuple of integers, as in `(triton.cdiv(n, BLOCK),)`.")
    if not 1 <= len(sizes) <= 3:
        refuse(f"has {len(sizes)} dimensions; a GPU has one to three.")
    x, y, z = (*sizes, 1, 1)[:3]
    sizes = (x, y, z)
    if min(sizes) < 0 or x >= 2**31 or max(y, z) >= 2**16:
        refuse(f"is {sizes}; a GPU allows up to 2^31 - 1 programs in the first dimension and 65,535 in the others.")
    return x, y, z


def check_options(options: set[str], kernel: str) -> None:
    """Refuses a keyword that is neither a parameter nor an option; the interpreter drops it without a word."""
    for name in sorted(options - _OPTIONS):
        text = (
            f"`{kernel}` has no parameter `{name}`, and Triton has no such option: on a GPU the launch raises KeyError."
        )
        raise EmulatorError(Finding("unsupported", text, kernel))


def check_arguments(arguments: dict[str, Any], constexprs: list[str], kernel: str) -> None:
    """Refuses an argument of a type that Triton's launcher refuses; the interpreter fails where it is used."""
    for name, value in arguments.items():
        if name not in constexprs and isinstance(value, np.ndarray | list | dict | set | torch.dtype):
            text = (
                f"`{name}` of `{kernel}` is of type {type(value).__name__}: a kernel takes tensors, numbers, tuples of "
                "them, and parameters declared `tl.constexpr`."
            )
            raise EmulatorError(Finding("unsupported", text, kernel, name))


def not_launched(kernel: str) -> EmulatorError:
    """The error of a kernel that is called without a grid."""
    place = here()
    text = (
        f"`{kernel}` is a kernel, and {place} calls it like a function. Launch it on a grid: "
        f"`{kernel}[(triton.cdiv(n, BLOCK),)](...)`."
    )
    return EmulatorError(Finding("unsupported", text, kernel, line=place.line, source=place.source, file=place.file))


def check_warps(num_warps: int, kernel: str) -> None:
    """Refuses a number of warps that no GPU can launch. Raises EmulatorError."""
    place = here()
    if num_warps < 1 or num_warps & (num_warps - 1):
        reason = "num_warps must be a power of 2, at most 32"
    elif num_warps > _MOST_WARPS:
        reason = f"num_warps={num_warps} makes programs of {32 * num_warps:,} threads, and a GPU runs at most 1,024"
    else:
        return
    text = f"`{kernel}` is launched with num_warps={num_warps}, {place}: {reason}."
    raise EmulatorError(Finding("unsupported", text, kernel, line=place.line, source=place.source, file=place.file))


_signature = functools.lru_cache(maxsize=64)(inspect.signature)  # asked at every launch


def _bound(fn: FunctionType, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name. Raises the TypeError that the call itself would raise."""
    try:
        bound = _signature(fn).bind(*args, **named)
    except TypeError:
        return inspect.getcallargs(fn, *args, **named)
    bound.apply_defaults()
    return bound.arguments


def _annotations(fn: FunctionType) -> dict[str, str]:
    return {name: normalize_ty(ty) for name, ty in getattr(fn, "__annotations__", {}).items()}


def execute(emulator: Any, executor: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Runs one launch of ``executor`` (the interpreter's `GridExecutor`) under the emulator. Raises EmulatorError where
    the launch stops, whatever the kernel raised.
    """
    fn, kernel = executor.fn, executor.fn.__name__
    names = list(_signature(fn).parameters)
    kwargs = {name: value for name, value in options.items() if name in names}
    check_options(set(options) - set(names), kernel)
    check_warps(options.get("num_warps", 4), kernel)
    bound = _bound(fn, args, kwargs)
    types = _annotations(fn)
    check_arguments(bound, executor.constexprs, kernel)
    grid = normal_grid(executor.grid, bound, kernel)
    with DisableTorchFunction():  # who watches an answer's functions need not see ours
        described = [describe(name, bound[name], name in executor.constexprs, types.get(name, "")) for name in names]
    others = tuple(sorted((name, value) for name, value in options.items() if name not in names))
    record = Launch(fn.interpreted.fn, kernel, grid, tuple(described), others)
    copies = bound
    if any(isinstance(v, torch.Tensor) and v.device.type != "cpu" for v in bound.values()):
        copies = on_host(executor, bound)
    for hook in executor.pre_run_hooks:  # gets positions as positions, and the options, as Triton's launcher has it
        hook(
            *(copies[name] for name in names[: len(args)]),
            **{name: copies.get(name, options[name]) for name in options},
        )
    access = emulator.begin(record)
    access.warps = options.get("num_warps", access.warps)
    arguments = Arguments(access, emulator.names)
    with DisableTorchFunction():
        ready = {
            name: value if name in executor.constexprs else arguments.convert(name, value, types.get(name, ""))
            for name, value in copies.items()
        }
    try:
        order = emulator.order(grid[0] * grid[1] * grid[2])
        if not (emulator.together and order.size and run(emulator, fn, ready, grid, access, order)):
            _programs(emulator, fn, ready, grid, access, order)
    except Exception as error:
        if found := _finding_in(error):
            raise found from None  # Triton's wrappers around it tell nothing, and it would be its own cause
        raise _kernel_error(error, kernel, access) from error
    finally:
        emulator.end(access)
    if copies is not bound:
        restore_on_device(executor, bound, copies)


def _programs(
    emulator: Any,
    fn: FunctionType,
    arguments: dict[str, Any],
    grid: tuple[int, int, int],
    access: Access,
    order: np.ndarray,
) -> None:
    emulator.prepare()
    builder = interpreter.interpreter_builder
    builder.set_grid_dim(*grid)
    with np.errstate(all="ignore"):
        for number in order.tolist():
            access.start(number)
            builder.set_grid_idx(*access.grid_index(access.program))
            fn(**arguments)


def _finding_in(error: BaseException | None) -> EmulatorError | None:
    """The finding inside Triton's wrapped exceptions."""
    while error is not None and not isinstance(error, EmulatorError):
        error = error.__cause__
    return error


def _kernel_error(error: BaseException, kernel: str, access: Access) -> EmulatorError:
    """A finding that says what the kernel raised and where."""
    place = place_of(error)
    while error.__cause__ is not None:
        error = error.__cause__
    program = access.index(access.program)
    raised = f"{type(error).__name__}: {error}"
    message = advice.shorten(raised).rstrip(": ")
    text = f"`{kernel}` fails in program {program}, {place}: {message}"
    more = advice.on(raised, place.source)
    text = f"{text}{'' if text.endswith('.') else '.'} {more}" if more else text
    kind = EmulatorError if isinstance(error, AssertionError) else Refused
    return kind(
        Finding("kernel-error", text, kernel, program=program, line=place.line, source=place.source, file=place.file)
    )
