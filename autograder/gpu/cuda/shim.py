"""Replaces what needs CUDA by a stand-in for the length of a ``with`` block."""

import contextlib
import functools
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import torch
import triton
import triton.testing
from torch.autograd.function import BackwardCFunction
from torch.torch_version import TorchVersion
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

from ..borrowed import (
    DisableTorchFunction,
    compiled_guards,
    len_torch_function_stack,
    libtriton_nvidia,
    package_registry,
    pin_memory,
    pin_memory_loop,
    torch_C,
)
from ..compiler import KernelLaunch
from ..compiler.bindings import RefusedKernel
from ..compiler.on_demand import CompiledCode, NotCompiled, code_of
from ..devices import DEVICES, JUDGED, Properties
from ..interpret import hidden
from . import (
    allocations,
    cublas,
    fake_tensors,
    graphs,
    jit_functions,
    matmul,
    memory_size,
    registered,
    runtime,
    streams,
)
from .compiled import SimulatedCompiler
from .driver import CompiledKernel, Driver, once
from .placement import GPU, Placement, Within, is_cuda, on_gpu, place, restore, tag, tensors, tracing
from .torch_functions import DeviceCalls


@dataclass(frozen=True)
class Simulated:
    """A simulated GPU. origins: file, line and text of the program's lines that a kernel of TorchInductor computes, by
    the kernel's name. unlike_gpu: names of operators that the CPU computed in half precision, and perhaps not as a GPU.
    calls: what PyTorch is asked in its block is asked of the simulated GPU.
    """

    gpu: Properties
    origins: dict[str, list[tuple[str, int, str]]]
    unlike_gpu: dict[str, None]
    calls: Callable[[], contextlib.AbstractContextManager[None]]


AttributePlaces = dict[str, tuple[str, int]]
CodeOf = Callable[[KernelLaunch, int, AttributePlaces], CompiledCode]
WarmedUp = Callable[[types.FunctionType, dict[str, Any], Callable[[], KernelLaunch]], None]
_Replacement = tuple[Any, str, Any]  # what has the attribute, its name, and what it becomes


def not_simulated(why: str) -> NoReturn:
    """Raises NotImplementedError, which says what cannot be simulated."""
    raise NotImplementedError(why)


@contextlib.contextmanager
def shimmed(
    refuse: Callable[[str], NoReturn] = not_simulated,
    device: str = JUDGED,
    code: CodeOf = code_of,
    warmed_up: WarmedUp = lambda kernel, options, describe: None,
    hides_interpreter: bool = False,
    throughout: bool = True,
    within: Within = lambda operator, args, kwargs: contextlib.nullcontext(),
    freed: Callable[[str, str], None] = lambda kernel, argument: None,
) -> Iterator[Simulated]:
    """Simulates a GPU in the block. refuse: raises an error that says what cannot be simulated.
    device: a key of `DEVICES`. code: compiles a launch for an architecture, where a program asks for it. warmed_up:
    called with a kernel that a program compiles without a launch, its options, and what describes it; may raise.
    hides_interpreter: whether the program cannot ask if kernels are interpreted.
    throughout: whether all calls of the block are a program's; else those are that `Simulated.calls` surrounds, and the
    others go to PyTorch as fast as ever. within: as `Placement` has it. freed: as `graphs.CUDAGraph` has it.
    """
    calls, gpu = DeviceCalls(), DEVICES[device]
    gpu = replace(gpu, total_memory=min(gpu.total_memory, memory_size.total()))  # suites leave out what does not fit
    allocations.reset_peak()
    allocations.reset_accumulated()
    with contextlib.ExitStack() as stack:
        if hides_interpreter:
            stack.enter_context(hidden())
            # Not for programs: what they import of PyTorch would look for parts that a build without CUDA lacks.
            for owner, name, value in _of_a_build_with_cuda():
                stack.enter_context(_replaced(owner, name, value))
        compiler, placement = SimulatedCompiler(refuse, stack), Placement(calls, within)
        for owner, name, value in [
            *_torch(calls, gpu, refuse),
            (torch.cuda, "CUDAGraph", _graph(refuse, freed)),
            (torch, "compile", compiler),
            *_triton(gpu, refuse, code, warmed_up),
        ]:
            stack.enter_context(_replaced(owner, name, value))
        stack.enter_context(matmul.simulated())
        stack.enter_context(fake_tensors.on_the_gpu())

        @contextlib.contextmanager
        def asked() -> Iterator[None]:
            with placement, calls:
                yield

        if throughout:
            stack.enter_context(asked())
        torch.get_device_module.cache_clear()  # it remembers which device was the accelerator
        stack.callback(torch.get_device_module.cache_clear)
        yield Simulated(gpu, compiler.origins, placement.unlike_gpu, asked)


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    had, old = name in vars(owner), getattr(owner, name, None)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if had:
            setattr(owner, name, old)
        else:
            delattr(owner, name)


def _of_a_build_with_cuda() -> list[_Replacement]:
    """Returns what tells a build of PyTorch with CUDA from one without."""
    version = TorchVersion(torch.__version__.partition("+")[0] + "+cu128")
    device_of: property = torch.UntypedStorage.device  # type: ignore[assignment]

    def device(storage: torch.UntypedStorage) -> torch.device:
        # What PyTorch itself does with a storage is done on the CPU, where no mode is active.
        gpu = len_torch_function_stack() and getattr(storage, "_on_gpu", False)
        return GPU if gpu else device_of.__get__(storage)

    return [
        (torch.backends.cuda, "is_built", lambda: True),
        (torch, "__version__", version),
        (torch.version, "__version__", version),
        (torch.UntypedStorage, "device", property(device)),
    ]


def _graph(refuse: Callable[[str], NoReturn], freed: Callable[[str, str], None]) -> type[streams.Graph]:
    return type("CUDAGraph", (streams.Graph,), {"refuse": staticmethod(refuse), "freed": staticmethod(freed)})


def _torch(calls: DeviceCalls, gpu: Properties, refuse: Callable[[str], NoReturn]) -> list[_Replacement]:
    replaced: list[_Replacement] = []
    for name, value in runtime.replacements(gpu).items():  # also where it is defined: some import it from there
        owners = [owner for owner in (torch.cuda, torch.cuda.memory, torch.cuda.random) if hasattr(owner, name)]
        replaced += [(owner, name, value) for owner in owners or [torch.cuda]]
    replaced += [(torch_C, name, value) for name, value in runtime.accelerator(gpu).items()]

    def graphed(*args: object, **kwargs: object) -> NoReturn:
        refuse("`make_graphed_callables` is not simulated; capture with `torch.cuda.graph`, or call the function.")

    replaced.append((torch.cuda, "make_graphed_callables", graphed))
    replaced.append((torch_C, "_host_emptyCache", runtime.nothing))  # which `torch.cuda.graph` calls

    def compiled(*args: object, **kwargs: object) -> NoReturn:
        refuse("CUDA C++ is compiled for a GPU: leave it to one.")

    replaced.append((torch.cuda, "_compile_kernel", compiled))
    for name in ("range_push", "range_pop", "mark", "range_start", "range_end"):
        replaced.append((torch.cuda.nvtx, name, runtime.nothing))
    replaced.append((torch.cuda.nvtx, "range", lambda *args, **kwargs: contextlib.nullcontext()))
    replaced += [(torch, "Stream", streams.Stream), (torch, "Event", streams.Event)]
    replaced.append((torch, "Generator", runtime.Generator))
    replaced.append((torch.version, "cuda", "12.8"))  # None in a build without CUDA, and libraries ask for it first
    # PyTorch looks at the stream's type before it asks a mode.
    replaced.append((torch.Tensor, "record_stream", runtime.nothing))
    # TorchInductor's code calls these two.
    replaced.append((torch_C, "_cuda_getCurrentRawStream", lambda device: streams.current().cuda_stream))
    replaced.append((compiled_guards, "_empty_strided_cuda", runtime.empty_strided))
    replaced.append((torch, "set_default_device", lambda device: setattr(calls, "default", is_cuda(device))))
    # What `torch.serialization.register_package` adds to, before PyTorch's own entry for CUDA.
    replaced.append((torch.serialization, "_package_registry", [(0, tag, restore), *package_registry]))
    for name in ("apply", "apply_boxed"):  # the second is PyTorch 2.13's, for what it compiled
        if apply := vars(BackwardCFunction).get(name):
            replaced.append((BackwardCFunction, name, _with_calls(calls, apply)))
    replaced.append((pin_memory, "_pin_memory_loop", _in_thread(pin_memory_loop)))
    return replaced + _autocast()


def _with_calls(calls: DeviceCalls, apply: Callable[..., Any]) -> Callable[..., Any]:
    """``apply`` of a custom backward, under ``calls``: PyTorch runs it where no mode is active."""

    def applied(self: Any, *args: Any) -> Any:
        with DisableTorchFunction():
            if any(on_gpu(tensor) for tensor in tensors(args)):
                for tensor in tensors(args):  # PyTorch's own zeros for a result that was not used, say
                    place(tensor, True)
        streams.wait_for_all()  # the streams of forward and backward are put in order by PyTorch
        if len_torch_function_stack():
            return apply(self, *args)
        with calls:
            return apply(self, *args)

    return applied


def _in_thread(loop: Callable[..., None]) -> Callable[..., None]:
    """The loop of `DataLoader` that pins memory, under `DeviceCalls`: in its thread no mode is active."""

    def pinning(*args: Any) -> None:
        with DeviceCalls():
            loop(*args)

    return pinning


def _autocast() -> list[_Replacement]:
    """Makes the CPU's autocast of the GPU's, with the GPU's dtype: float16 unless another is named. Of a tensor with
    which a compiler traces PyTorch asks the GPU's, so that is entered, too.
    """
    init: Callable[..., None] = torch.autocast.__init__
    enter: Callable[..., Any] = torch.autocast.__enter__
    leave: Callable[..., Any] = torch.autocast.__exit__
    enabled: Callable[[str], bool] = torch.is_autocast_enabled
    dtype_of: Callable[[str], torch.dtype] = torch.get_autocast_dtype

    def cpu(device: str) -> str:
        return "cpu" if device == "cuda" else device

    def chosen(device_type: str) -> torch.dtype:
        return torch.float16 if device_type == "cuda" and not enabled("cpu") else dtype_of(cpu(device_type))

    def begin(
        self: Any,
        device_type: str,
        dtype: torch.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        options = dtype or chosen(device_type), enabled, cache_enabled
        init(self, cpu(device_type), *options)
        if device_type == "cuda":
            self._traced = torch.autocast.__new__(torch.autocast)
            init(self._traced, device_type, *options)

    def entered(self: Any) -> Any:
        if traced := getattr(self, "_traced", None):
            enter(traced)
        return enter(self)

    def left(self: Any, *error: Any) -> Any:
        if traced := getattr(self, "_traced", None):
            leave(traced, *error)
        return leave(self, *error)

    return [
        (torch.autocast, "__init__", begin),
        (torch.autocast, "__enter__", entered),
        (torch.autocast, "__exit__", left),
        (torch, "is_autocast_enabled", lambda device_type="cuda": enabled(cpu(device_type))),
        (torch, "get_autocast_dtype", chosen),
        (torch, "get_autocast_gpu_dtype", lambda: chosen("cuda")),
    ]


def _triton(
    gpu: Properties, refuse: Callable[[str], NoReturn], code: CodeOf, warmed_up: WarmedUp
) -> list[_Replacement]:
    run = InterpretedFunction.run

    def asm(launch: KernelLaunch, places: AttributePlaces) -> CompiledCode:
        try:
            return code(launch, gpu.architecture, places)
        except (NotCompiled, RefusedKernel) as error:
            refuse(f"{error}.")

    def launched(kernel: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> Any:
        handle = CompiledKernel(kernel, args, options, asm)
        if warmup:
            warmed_up(kernel.fn, options, handle.described)
        else:
            if graphs.capturing() and callable(grid):  # a replay has the grid of its capture
                grid = grid(handle.given)
            launch = functools.partial(run, kernel, grid=grid, warmup=False)
            if not streams.captured(kernel, args, options, launch):
                launch(*args, **options)
        return handle

    def compiled(kernel: Any, *args: object, **options: object) -> NoReturn:
        what = "in Gluon" if kernel.is_gluon() else f"made by a class of its own, {type(kernel).__qualname__}"
        refuse(f"`{kernel.fn.__name__}` is {what}, compiled for a GPU and not interpreted: leave it to a GPU.")

    return [
        (triton.runtime.driver, "_active", Driver(gpu)),
        (libtriton_nvidia.cublas, "CublasLt", cublas.CublasLt),
        (triton.testing, "do_bench", once),
        (triton.testing, "do_bench_cudagraph", once),
        (InterpretedFunction, "run", launched),
        (JITFunction, "run", compiled),
        *jit_functions.replacements(),
        *registered.replacements(tracing),
    ]
