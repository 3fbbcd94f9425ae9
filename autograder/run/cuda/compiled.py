"""`torch.compile` on the simulated GPU: TorchInductor generates the Triton kernels that it would for a GPU.

Dynamo and autograd trace a function on the CPU, where its tensors lie; what they are told of devices is the GPU's. The
graphs that come out, forward and backward, are then put on the GPU and handed to TorchInductor, whose kernels are
launched like any other. A function that cannot be compiled whole is called as it is, and that is said.
"""

import contextlib
import functools
import os
import re
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NoReturn
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode
from triton.runtime.interpreter import InterpretedFunction

from ...emulator import EmulatorError
from .placement import GPU, on_gpu, tensors

_CPU = torch.device("cpu")
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+).*\n\s*(?P<source>.*)')
_Origin = tuple[str, int, str]  # file, line and its text


class Compiler:
    """Stands for `torch.compile`. refuse: called with a sentence where something cannot be compiled; it may raise.
    stack: what is undone when the simulated GPU ends.
    """

    def __init__(self, refuse: Callable[[str], NoReturn], stack: contextlib.ExitStack):
        self.refuse, self.stack, self.real = refuse, stack, torch.compile
        self.origins: dict[str, list[_Origin]] = {}  # the program's lines that a generated kernel computes, by its name

    def __call__(
        self,
        model: Any = None,
        *,
        backend: Any = "inductor",
        dynamic: bool | None = None,
        disable: bool = False,
        **_: Any,
    ) -> Any:
        """The function or module, to be compiled when it is called with tensors on the GPU. Modes and options, which
        choose among kernels by their time, are not followed.
        """
        if model is None:
            return functools.partial(self, backend=backend, dynamic=dynamic, disable=disable)
        if disable or backend != "inductor":
            return model  # it makes no Triton kernels
        with patch.dict(os.environ):
            os.environ.pop("TORCHDYNAMO_DISABLE", None)
            compiled: Any = self.real(model, backend=self._backend, fullgraph=True, dynamic=dynamic)
        if isinstance(model, torch.nn.Module):
            compiled.forward = self._called(compiled.forward, model.forward, model)
            return compiled
        return functools.wraps(model)(self._called(compiled, model, getattr(model, "__self__", None)))

    def _called(self, compiled: Callable[..., Any], plain: Callable[..., Any], owner: object) -> Callable[..., Any]:
        refused = False

        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal refused
            if refused or not _has_gpu(args, kwargs, owner):
                return plain(*args, **kwargs)
            try:
                with _tracing():
                    self._launch_interpreted()
                    return compiled(*args, **kwargs)
            except (RuntimeError, AssertionError) as error:
                if not _of_compiler(error):
                    raise
                with contextlib.suppress(EmulatorError):
                    self.refuse(
                        f"`{getattr(plain, '__qualname__', plain)}` runs without torch.compile, so the kernels that it "
                        f"would generate are not judged: {_first_line(error)}."
                    )
                refused = True
                return plain(*args, **kwargs)

        return call

    def _launch_interpreted(self) -> None:
        """Has TorchInductor find the GPU, launch kernels in the interpreter, and write its files to a folder of its
        own, for as long as a GPU is simulated.
        """
        from torch._inductor.runtime.triton_heuristics import CachingAutotuner

        if CachingAutotuner.run is not _launched:
            self.stack.enter_context(_found_gpu())
            folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="torchinductor-"))
            self.stack.enter_context(patch.dict(os.environ, {"TORCHINDUCTOR_CACHE_DIR": folder}))
            self.stack.enter_context(patch.object(CachingAutotuner, "run", _launched))

    def _backend(self, graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        from torch._inductor.compile_fx import compile_fx

        for node in graph.graph.nodes:
            if "autocast" in str(node.target):  # what is traced lies on the CPU
                node.args = torch.fx.node.map_aggregate(node.args, lambda one: "cpu" if one == "cuda" else one)
        return compile_fx(graph, inputs, inner_compile=self._on_gpu)

    def _on_gpu(self, graph: torch.fx.GraphModule, inputs: list[Any], **options: Any) -> Any:
        """TorchInductor's compilation of a graph of operators, forward or backward, after it was put on the GPU."""
        from torch._inductor.compile_fx import compile_fx_inner

        with _generating():
            for node in graph.graph.nodes:
                node.args, node.kwargs = (
                    torch.fx.node.map_aggregate(part, lambda one: GPU if isinstance(one, torch.device) else one)
                    for part in (node.args, node.kwargs)
                )
                if "val" in node.meta:
                    node.meta["val"] = _put_on_gpu(node.meta["val"])
            made = compile_fx_inner(graph, _put_on_gpu(inputs), **options)
            self._note_origins()
        return made

    def _note_origins(self) -> None:
        from torch._inductor import debug

        for name, traces in getattr(debug, "_inductor_kernel_stack_trace", {}).items():
            frames = [match for trace in traces if (match := [*_FRAME.finditer(trace)][-1:])]
            lines = {(one["file"], int(one["line"]), one["source"].strip()) for (one,) in frames}
            if lines:
                self.origins[name.partition(":")[0]] = sorted(lines)


def _of_compiler(error: Exception) -> bool:
    """Whether Dynamo or a compiler behind it raised the error, and not the function."""
    from torch._dynamo.exc import TorchDynamoException

    nothing, layout = "torch.compile with fullgraph=True found", "Error in op: torch.ops."  # a CPU's, not a GPU's
    return isinstance(error, TorchDynamoException) or str(error).startswith(nothing) or layout in str(error)


def _first_line(error: BaseException) -> str:
    """What an error says, without the pages that Dynamo adds."""
    inner = getattr(error, "inner_exception", None) or error
    lines = [line.strip() for line in str(inner).splitlines() if line.strip()]
    text = f"{type(inner).__name__}: {lines[0] if lines else ''}"
    return textwrap.shorten(text, 200, placeholder=" ...").rstrip(". :")


def _launched(tuner: Any, *args: Any, stream: object, benchmark_run: bool = False, **named: Any) -> None:
    """Stands for `CachingAutotuner.run`: a launch in the first of the kernel's configurations. Of a kernel that the
    program wrote TorchInductor has a copy; the program's own is launched.
    """
    from torch._inductor.runtime.triton_heuristics import GridExpr

    config, kernel = tuner.configs[0], _own(tuner.fn) if tuner.custom_kernel else tuner.fn
    fixed = {parameter.name for parameter in kernel.params if parameter.is_constexpr}
    left_out = fixed if tuner.custom_kernel else config.kwargs
    names = [name for name in tuner.triton_meta["signature"] if name not in left_out]
    given = dict(zip([*names, *tuner.inductor_meta.get("extra_launcher_args", ())], args, strict=True))
    grid = GridExpr.from_meta(tuner.inductor_meta, config).eval_slow(given)
    constants = {name: value for name, value in tuner.triton_meta["constants"].items() if name in fixed}
    arguments = constants | config.kwargs | {name: given[name] for name in names}
    kernel[grid](**arguments, num_warps=config.num_warps, num_stages=config.num_stages)


def _own(copy: Any) -> Any:
    """The program's kernel of which this is a copy."""
    from torch._higher_order_ops.triton_kernel_wrap import kernel_side_table

    kernel: Any
    for kernel in kernel_side_table.id_to_kernel.values():
        while not isinstance(kernel, InterpretedFunction):
            kernel = kernel.fn
        if kernel.__name__ == copy.__name__ and kernel.src == copy.src:
            return kernel
    return copy


def _has_gpu(args: Any, kwargs: Any, owner: object) -> bool:
    """Whether a tensor of the call is on the GPU; a call without one makes its own."""
    with torch._C.DisableTorchFunction():
        given = [*tensors([args, kwargs])]
        if isinstance(owner, torch.nn.Module):
            given += [*owner.parameters(), *owner.buffers()]
        return not given or any(map(on_gpu, given))


@contextlib.contextmanager
def _tracing() -> Iterator[None]:
    """What Dynamo sees while it traces and what runs: devices are the GPU's, fake tensors the CPU's."""
    from torch._dynamo import config
    from torch._dynamo.variables.tensor import TensorVariable
    from torch._subclasses import fake_tensor

    settings = {"disable": False, "recompile_limit": 1 << 10, "accumulated_recompile_limit": 1 << 16}  # many shapes
    known, normal = TensorVariable.specialize, fake_tensor.FakeTensor._normalize_fake_device

    def specialized(value: torch.Tensor) -> dict[str, Any]:
        properties: dict[str, Any] = known(value)
        return properties | {"device": GPU}

    def on_cpu(device: torch.device) -> torch.device:
        return _CPU if device.type == "cuda" else normal(device)

    with (
        _without_function_modes(),
        config.patch(settings),
        patch.object(TensorVariable, "specialize", staticmethod(specialized)),
        patch.object(fake_tensor.FakeTensor, "_normalize_fake_device", staticmethod(on_cpu)),
    ):
        yield


@contextlib.contextmanager
def _found_gpu() -> Iterator[None]:
    """PyTorch's compiler asks `torch.cuda` as it is now. Where it was imported before the GPU was simulated it holds
    the functions of then, and what they said.
    """
    from torch._dynamo.device_interface import CudaInterface

    held = [name for name, value in vars(CudaInterface).items() if isinstance(value, staticmethod)]
    with contextlib.ExitStack() as stack:
        for name in held:
            if name in vars(torch.cuda):
                stack.enter_context(patch.object(CudaInterface, name, staticmethod(vars(torch.cuda)[name])))
        _forget_devices()
        yield
    _forget_devices()


def _forget_devices() -> None:
    """Empties what PyTorch keeps of devices and of whether Triton works on them."""
    from torch._dynamo import device_interface
    from torch._inductor.runtime.hints import DeviceProperties
    from torch.utils import _triton

    device_interface.caching_worker_device_properties.pop("cuda", None)
    DeviceProperties.create.cache_clear()
    for function in vars(_triton).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


@contextlib.contextmanager
def _generating() -> Iterator[None]:
    """What TorchInductor finds: a GPU with CUDA, one process, and no cache of earlier programs."""
    from torch._inductor import config
    from torch._inductor.runtime import triton_helpers
    from torch._subclasses import fake_tensor
    from torch.utils._python_dispatch import _disable_current_modes

    normal = fake_tensor.FakeTensor._normalize_fake_device

    def indexed(device: torch.device) -> torch.device:
        return GPU if device.type == "cuda" else normal(device)

    settings = {"force_disable_caches": True, "compile_threads": 1, "shape_padding": False}
    with (
        _disable_current_modes(),
        _without_function_modes(),
        config.patch({**settings, "trace.provenance_tracking_level": 1}),
        patch.object(torch.version, "cuda", "12.8"),
        patch.object(triton_helpers, "set_driver_to_gpu", lambda: None),
        patch.object(fake_tensor.FakeTensor, "_normalize_fake_device", staticmethod(indexed)),
    ):
        yield


@contextlib.contextmanager
def _without_function_modes() -> Iterator[None]:
    """Takes the function modes away: Dynamo would trace through them."""
    modes: list[TorchFunctionMode] = []
    while torch._C._len_torch_function_stack():
        modes.append(torch._C._pop_torch_function_stack())
    try:
        yield
    finally:
        for mode in reversed(modes):
            torch._C._push_on_torch_function_stack(mode)


def _put_on_gpu(value: Any) -> Any:
    """Fake tensors as fake tensors on the GPU, in nested lists and tuples."""
    from torch._subclasses import fake_tensor

    if isinstance(value, fake_tensor.FakeTensor):
        mode = value.fake_mode
        with fake_tensor.in_kernel_invocation_manager(mode):
            form = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
        return fake_tensor.FakeTensor(mode, form, GPU)
    if isinstance(value, list | tuple):
        return type(value)(map(_put_on_gpu, value))
    return value
