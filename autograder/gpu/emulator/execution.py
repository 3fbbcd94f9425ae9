"""Says how a launch is run, after what a GPU refuses of it is refused."""

import functools
import inspect
import operator
from collections.abc import Callable, Container, Mapping
from dataclasses import fields
from types import FunctionType
from typing import Any, NoReturn

import numpy as np
import torch
import triton.language as tl
from triton.backends.amd.compiler import HIPOptions
from triton.backends.nvidia.compiler import CUDAOptions
from triton.language import target_info
from triton.runtime import interpreter

from ..borrowed import DisableTorchFunction, normalize_ty, on_host, restore_on_device
from . import advice
from .access import Access
from .findings import EmulatorError, Finding, Waiting, current_place, names_of_nothing, place_of
from .grid import Defect, run
from .launch import Launch
from .launch_arguments import LaunchArguments, describe
from .refused import (
    FalseStaticAssertion,
    RefusedClusters,
    RefusedLaunch,
    RefusedWarps,
    StaticAssertionError,
    UnknownOption,
)

_MOST_WARPS = 32
_FEW = 16  # programs that are run to see whether one of them stores what another waits for
_NO_ARGUMENT = np.ndarray | list | dict | set | str | bytes | complex | torch.dtype | tl.dtype
_CLUSTERS = 90  # the first architecture that has them
_OPTIONS = {field.name for options in (CUDAOptions, HIPOptions) for field in fields(options)}


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


def check_options(options: Mapping[str, Any], parameters: Container[str], kernel: str) -> None:
    """Refuses a keyword that is neither a parameter nor an option, and values of options that Triton's compiler
    refuses; the interpreter drops them without a word. Raises EmulatorError, which is an error of Triton's class, too.
    """
    for name in sorted(name for name in options if name not in parameters and name not in _OPTIONS):
        why = (
            f"`{kernel}` has no parameter `{name}`, and Triton has no such option: on a GPU the launch raises KeyError."
        )
        raise UnknownOption(Finding("unsupported", why, kernel))
    warps, blocks = options.get("num_warps", 4), options.get("num_ctas", 1)
    if warps < 1 or warps & (warps - 1):
        raise RefusedWarps(_at_launch(kernel, f"num_warps={warps}", "num_warps must be a power of 2, at most 32"))
    target = target_info.current_target()
    if blocks > 1 and target.backend == "cuda" and target.arch < _CLUSTERS:
        why = f"clusters of blocks need an NVIDIA GPU of sm_{_CLUSTERS} or later, and this is sm_{target.arch}"
        raise RefusedClusters(_at_launch(kernel, f"num_ctas={blocks}", why))


def check_threads(num_warps: int, kernel: str) -> None:
    """Refuses a launch of more threads in a program than any GPU has. Raises EmulatorError."""
    if num_warps > _MOST_WARPS:
        why = f"num_warps={num_warps} makes programs of {32 * num_warps:,} threads, and a GPU runs at most 1,024"
        raise EmulatorError(_at_launch(kernel, f"num_warps={num_warps}", why))


def _at_launch(kernel: str, given: str, why: str) -> Finding:
    place = current_place()
    text = f"`{kernel}` is launched with {given}, {place}: {why}."
    return Finding("unsupported", text, kernel, line=place.line, source=place.source, file=place.file)


def check_arguments(arguments: dict[str, Any], constexprs: list[str], kernel: str) -> None:
    """Refuses an argument of a type that Triton's launcher refuses; the interpreter fails where it is used."""
    for name, value in arguments.items():
        if name not in constexprs and isinstance(value, _NO_ARGUMENT):
            text = (
                f"`{name}` of `{kernel}` is of type {type(value).__name__}: a kernel takes tensors, numbers, tuples of "
                "them, and parameters declared `tl.constexpr`."
            )
            raise EmulatorError(Finding("unsupported", text, kernel, name))


def not_launched(kernel: str) -> EmulatorError:
    """The error of a kernel that is called without a grid."""
    place = current_place()
    text = (
        f"`{kernel}` is a kernel, and {place} calls it like a function. Launch it on a grid: "
        f"`{kernel}[(triton.cdiv(n, BLOCK),)](...)`."
    )
    return EmulatorError(Finding("unsupported", text, kernel, line=place.line, source=place.source, file=place.file))


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
    check_options(options, names, kernel)
    check_threads(options.get("num_warps", 4), kernel)
    bound = _bound(fn, args, kwargs)
    types = _annotations(fn)
    check_arguments(bound, executor.constexprs, kernel)
    grid = normal_grid(executor.grid, bound, kernel)
    with DisableTorchFunction():  # who watches an answer's functions need not see ours, nor who simulates a GPU
        described = [describe(name, bound[name], name in executor.constexprs, types.get(name, "")) for name in names]
        on_device = any(isinstance(v, torch.Tensor) and v.device.type != "cpu" for v in bound.values())
    others = tuple(sorted((name, value) for name, value in options.items() if name not in names))
    record = Launch(fn.interpreted.fn, kernel, grid, tuple(described), others)
    copies = on_host(executor, bound) if on_device else bound
    for hook in executor.pre_run_hooks:  # gets positions as positions, and the options, as Triton's launcher has it
        hook(
            *(copies[name] for name in names[: len(args)]),
            **{name: copies.get(name, options[name]) for name in options},
        )
    access = emulator.begin(record)
    access.warps = options.get("num_warps", access.warps)
    arguments = LaunchArguments(access, emulator.names, _unspecialised(fn.interpreted, names))
    with DisableTorchFunction():
        ready = {
            name: value if name in executor.constexprs else arguments.convert(name, value, types.get(name, ""))
            for name, value in copies.items()
        }
    try:
        order = emulator.order(grid[0] * grid[1] * grid[2])
        _run(emulator, fn, ready, grid, access, order)
    except Defect:
        raise
    except Exception as error:
        if finding := _finding_in(error):
            raise finding from None  # Triton's wrappers around it tell nothing, and it would be its own cause
        raise _kernel_error(error, kernel, access) from error
    finally:
        emulator.end(access)
    if copies is not bound:
        restore_on_device(executor, bound, copies)


def _unspecialised(function: Any, names: list[str]) -> set[str]:
    """The parameters that a kernel's decorator names, or numbers, in ``do_not_specialize``."""
    given = function.kwargs.get("do_not_specialize") or ()
    return {parameter if isinstance(parameter, str) else names[parameter] for parameter in given}


def _run(
    emulator: Any,
    fn: FunctionType,
    arguments: dict[str, Any],
    grid: tuple[int, int, int],
    access: Access,
    order: np.ndarray,
) -> None:
    """Runs the programs of a launch together, or where that is not possible one at a time. Raises Defect where they
    cannot run together through a fault of the emulator's own.
    """
    launch, defect = (emulator, fn, arguments, grid, access, order), None
    if emulator.together and order.size:
        try:
            access.alone = "a launch that may run at the same time" if emulator.meets(access) else run(*launch)
        except Defect as error:
            defect, access.alone = error, str(error)
        if not access.alone:
            return
        emulator.fallbacks.append((access.kernel, access.alone))
    _programs(*launch)
    if defect is not None:
        raise defect


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

        def program(number: int) -> None:
            access.start(number)
            builder.set_grid_idx(*access.grid_index(access.program))
            fn(**arguments)

        numbers = order.tolist()
        for begun, number in enumerate(numbers, 1):
            try:
                program(number)
            except Exception as error:
                waiting, rest = _finding_in(error), numbers[begun:]
                if isinstance(waiting, Waiting) and 0 < len(rest) <= _FEW and _all_wait(program, rest, [waiting]):
                    raise EmulatorError(waiting.never) from None
                raise


def _all_wait(program: Callable[[int], None], numbers: list[int], waiting: list[Waiting]) -> bool:
    """Returns whether the programs ``numbers``, which are run for it, each end or wait as well, and nobody gets what he
    waits for. waiting: those that do so far.
    """
    for number in numbers:
        try:
            program(number)
        except Exception as error:
            finding = _finding_in(error)
            if not isinstance(finding, Waiting):
                return False
            waiting.append(finding)
        if any(waiter.read() != waiter.seen for waiter in waiting):
            return False
    return True


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
    of_nothing = advice.on_nothing(names_of_nothing(error))
    message = of_nothing or advice.shorten(raised).rstrip(": ")
    text = f"`{kernel}` fails in program {program}, {place}: {message}"
    if not of_nothing and (more := advice.on(raised, place.source)):
        text += f"{'' if text.endswith('.') else '.'} {more}"
    if isinstance(error, StaticAssertionError):
        kind: type[EmulatorError] = FalseStaticAssertion
    else:
        kind = EmulatorError if isinstance(error, AssertionError) and not of_nothing else RefusedLaunch
    return kind(
        Finding("kernel-error", text, kernel, program=program, line=place.line, source=place.source, file=place.file)
    )
