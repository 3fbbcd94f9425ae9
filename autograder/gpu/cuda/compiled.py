"""`torch.compile` on the simulated GPU: TorchInductor generates the Triton kernels that it would for a GPU.

Dynamo splits a function into graphs (`dynamo`). Autograd traces each on the CPU, where its tensors lie; the graphs that
come out, forward and backward, are then put on the GPU and handed to TorchInductor, whose kernels are launched like any
other. What cannot be compiled is called as it is, and that is said.
"""

import contextlib
import logging
import os
import re
import sys
import tempfile
import textwrap
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode
from triton.runtime.interpreter import InterpretedFunction

from ..borrowed import (
    DisableTorchFunction,
    len_torch_function_stack,
    pop_torch_function_stack,
    push_on_torch_function_stack,
)
from ..emulator import EmulatorError
from . import dynamo
from .placement import GPU, is_cuda, on_gpu, place, tensors

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+).*\n\s*(?P<source>.*)')
_WHAT_KERNELS_STORE = "triton_kernel_wrap"  # PyTorch's module
_Origin = tuple[str, int, str]  # file, line and its text


class SimulatedCompiler:
    """Stands for `torch.compile`. refuse: called with a sentence where something cannot be compiled; it may raise.
    stack: what is undone when the simulated GPU ends.
    """

    def __init__(self, refuse: Callable[[str], NoReturn], stack: contextlib.ExitStack):
        self.refuse, self.stack, self.real = refuse, stack, torch.compile
        # The program's lines that a generated kernel computes, where they are known, by its name.
        self.origins: dict[str, list[_Origin]] = {}
        self.traces = self.generates = False
        if "torch._dynamo" in sys.modules:  # something may have been decorated before
            self._trace()

    def __call__(self, model: Any = None, *, backend: Any = "inductor", **options: Any) -> Any:
        """Returns what `torch.compile` returns. Modes and options of TorchInductor, which choose among kernels by their
        time, are not followed, and no function has to be one graph.
        """
        if isinstance(backend, str) and backend != "inductor":  # such as aot_eager: it makes no Triton kernels
            return (lambda decorated: decorated) if model is None else model
        self._trace()
        with patch.dict(os.environ):
            os.environ.pop("TORCHDYNAMO_DISABLE", None)
            return self.real(model, backend=backend, **options | {"fullgraph": False})

    def _trace(self) -> None:
        if not self.traces:
            self.traces = True
            self.stack.enter_context(dynamo.traced(self._generate, self._not_traced))

    def _generate(self) -> None:
        """Has TorchInductor find the GPU, launch kernels in the interpreter, and write its files to a folder of its
        own, for as long as a GPU is simulated.
        """
        from ..borrowed import CachingAutotuner, compile_fx
        from ..borrowed import inductor_config as config

        if not self.generates:
            self.generates = True
            folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="torchinductor-"))
            self.stack.enter_context(config.patch(compile_threads=1))  # no processes, which would not be watched
            self.stack.enter_context(_found_gpu())
            # PyTorch asks Triton's compiler which tensors a kernel stores to. Where kernels are interpreted it finds
            # none, takes all of them, and prints a page about it.
            logger = logging.getLogger("torch._dynamo")
            logger.addFilter(_tells_of_other_things)
            self.stack.callback(logger.removeFilter, _tells_of_other_things)
            self.stack.enter_context(patch.dict(os.environ, {"TORCHINDUCTOR_CACHE_DIR": folder}))
            self.stack.enter_context(patch.object(CachingAutotuner, "run", self._launch()))
            self.stack.enter_context(patch.object(compile_fx, "compile_fx", self._compiled(compile_fx.compile_fx)))

    def _launch(self) -> Callable[..., None]:
        def launch(tuner: Any, *args: Any, **named: Any) -> None:
            if not tuner.custom_kernel:
                self.origins.setdefault(tuner.fn.__name__, [])
            _launched(tuner, *args, **named)

        return launch

    def _not_traced(self, code: Any, error: Exception) -> None:
        name = re.sub(r"^torch_dynamo_resume_in_(.*)_at_\d+$", r"\1", code.co_name)  # Dynamo's, of what follows a break
        self._not_compiled(f"`{name}` ({code.co_filename}:{code.co_firstlineno}) runs, whole or in part,", error)

    def _not_compiled(self, what_runs: str, error: Exception) -> None:
        with contextlib.suppress(EmulatorError):
            self.refuse(
                f"{what_runs} without torch.compile, so the kernels that it would generate are not judged: "
                f"{_first_line(error)}."
            )

    def _compiled(self, compile_fx: Callable[..., Any]) -> Callable[..., Any]:
        def compiled(graph: torch.fx.GraphModule, inputs: list[Any], inner_compile: Any = None, **options: Any) -> Any:
            """A graph of Dynamo's, compiled; one on the host is called as it is, for no Triton kernel is made there."""
            if inner_compile:  # it calls itself
                return compile_fx(graph, inputs, inner_compile, **options)
            if not dynamo.on_gpu(graph, inputs):
                return graph.forward
            _give_devices(graph, lambda value: type(value)("cpu") if is_cuda(value) else value)
            with _faked_on_cpu():
                return compile_fx(graph, inputs, inner_compile=self._on_gpu)

        return compiled

    def _on_gpu(self, graph: torch.fx.GraphModule, inputs: list[Any], **options: Any) -> Any:
        """TorchInductor's compilation of a graph of operators, forward or backward, after it was put on the GPU."""
        from ..borrowed import compile_fx_inner, make_boxed_func
        from ..borrowed import inductor_debug as debug

        traces: dict[str, list[str]] = {}
        with _generating(), patch.object(debug, "_inductor_kernel_stack_trace", traces, create=True):
            _give_devices(graph, lambda value: GPU if isinstance(value, torch.device) else value)
            for node in _nodes(graph):
                if "val" in node.meta:
                    node.meta["val"] = _put_on_gpu(node.meta["val"])
            try:
                compiled = compile_fx_inner(graph, _put_on_gpu(inputs), **options)
            except Exception as error:
                if not options.get("is_backward"):
                    raise  # Dynamo calls the function as it is
                lines = _lines([node.stack_trace or "" for node in graph.graph.nodes])
                which = f" of `{lines[-1][-1]}` ({lines[-1][0]}:{lines[-1][1]})" if lines else ""
                self._not_compiled(f"The backward pass{which} runs", error)
                return make_boxed_func(graph.forward)
        if origins := {
            name.partition(":")[0]: lines for name, operators in traces.items() if (lines := _lines(operators))
        }:
            self._note(origins, compiled)
        return compiled

    def _note(self, origins: Mapping[str, list[_Origin]], graph: Any) -> None:
        """Notes which lines a graph's kernels compute whenever it is called: those of others have the same names."""
        run = graph.current_callable

        def noted(inputs: list[Any]) -> Any:
            self.origins.update(origins)
            return run(inputs)

        graph.current_callable = noted


def _tells_of_other_things(record: logging.LogRecord) -> bool:
    return record.module != _WHAT_KERNELS_STORE


def _lines(traces: list[str]) -> list[_Origin]:
    """The program's lines at the ends of traces, each once."""
    frames = [matches[-1] for trace in traces if (matches := [*_FRAME.finditer(trace)])]
    return sorted({(frame["file"], int(frame["line"]), frame["source"].strip()) for frame in frames})


def _give_devices(graph: torch.fx.GraphModule, changed: Callable[[Any], Any]) -> None:
    """Changes arguments of the operators in a graph that make tensors, and of autocast."""
    for node in _nodes(graph):
        example = node.meta.get("example_value", node.meta.get("val"))
        if "autocast" in str(node.target) or any(tensor is not None for tensor in tensors(example)):
            node.args = torch.fx.node.map_aggregate(node.args, changed)
            node.kwargs = torch.fx.node.map_aggregate(node.kwargs, changed)
    for part in _parts(graph):
        part.recompile()


def _parts(graph: torch.fx.GraphModule) -> list[torch.fx.GraphModule]:
    """The graph and those within."""
    return [part for part in graph.modules() if isinstance(part, torch.fx.GraphModule)]


def _nodes(graph: torch.fx.GraphModule) -> list[torch.fx.Node]:
    return [node for part in _parts(graph) for node in part.graph.nodes]


def _first_line(error: Exception) -> str:
    """Returns what an error says and of which line of the program, without the pages that Dynamo adds."""
    inner = getattr(error, "inner_exception", None) or error
    lines = [line.strip() for line in str(inner).splitlines() if line.strip()]
    text = f"{type(inner).__name__}: {lines[0] if lines else ''}"
    stack: list[traceback.FrameSummary] = [*(getattr(error, "real_stack", None) or [])]
    where = "".join(f" ({frame.filename}:{frame.lineno}, `{frame.line}`)" for frame in stack[-1:])
    return textwrap.shorten(text, 200, placeholder=" ...").rstrip(". :") + where


def _launched(tuner: Any, *args: Any, stream: object, benchmark_run: bool = False, **named: Any) -> None:
    """Stands for `CachingAutotuner.run`: a launch in the first of the kernel's configurations. Of a kernel that the
    program wrote TorchInductor has a copy; the program's own is launched.
    """
    from ..borrowed import GridExpr

    config, kernel = tuner.configs[0], _original(tuner.fn) if tuner.custom_kernel else tuner.fn
    fixed = {parameter.name for parameter in kernel.params if parameter.is_constexpr}
    left_out = fixed if tuner.custom_kernel else config.kwargs
    names = [name for name in tuner.triton_meta["signature"] if name not in left_out]
    names_of_all = [*names, *tuner.inductor_meta.get("extra_launcher_args", ())]
    sizes = dict(zip(names_of_all, map(_number_of_host, args), strict=True))
    grid = GridExpr.from_meta(tuner.inductor_meta, config).eval_slow(sizes)
    constants = {name: value for name, value in tuner.triton_meta["constants"].items() if name in fixed}
    arguments = constants | config.kwargs | {name: sizes[name] for name in names}
    kernel[grid](**arguments, num_warps=config.num_warps, num_stages=config.num_stages)


def _number_of_host(given: Any) -> Any:
    """A tensor without dimensions may be on the host, and an operator on the GPU is given its value."""
    with DisableTorchFunction():
        if isinstance(given, torch.Tensor) and not given.dim() and not on_gpu(given):
            return place(given.clone(), True)
    return given


def _original(copy: Any) -> Any:
    """The program's kernel of which this is a copy."""
    from ..borrowed import kernel_side_table

    kernel: Any
    for kernel in kernel_side_table.id_to_kernel.values():
        while not isinstance(kernel, InterpretedFunction):
            kernel = kernel.fn
        if kernel.__name__ == copy.__name__ and kernel.src == copy.src:
            return kernel
    return copy


@contextlib.contextmanager
def _faked_on_cpu() -> Iterator[None]:
    """Has autograd trace with fake tensors on the CPU, inputs included: its engine would look for a GPU, in vain."""
    from ..borrowed import FakeTensorConverter, TracingContext

    mode = TracingContext.get().fake_mode
    with patch.object(mode, "fake_tensor_converter", FakeTensorConverter()), dynamo.faked_on_cpu():
        yield


@contextlib.contextmanager
def _found_gpu() -> Iterator[None]:
    """PyTorch's compiler asks `torch.cuda` as it is now. Where it was imported before the GPU was simulated it holds
    the functions of then, and what they said.
    """
    from ..borrowed import CudaInterface

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
    from ..borrowed import DeviceProperties, device_interface, utils_triton

    device_interface.caching_worker_device_properties.pop("cuda", None)
    DeviceProperties.create.cache_clear()
    for function in vars(utils_triton).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


@contextlib.contextmanager
def _generating() -> Iterator[None]:
    """Yields what TorchInductor finds: a GPU with CUDA, and no cache of earlier programs."""
    from ..borrowed import disable_current_modes, fake_tensor, triton_helpers
    from ..borrowed import inductor_config as config
    from ..borrowed import normalize_fake_device as normal

    def indexed(device: torch.device) -> torch.device:
        return GPU if device.type == "cuda" else normal(device)

    settings = {"force_disable_caches": True, "shape_padding": False}
    with (
        disable_current_modes(),
        _without_function_modes(),
        config.patch({**settings, "trace.provenance_tracking_level": 1}),
        patch.object(triton_helpers, "set_driver_to_gpu", lambda: None),
        patch.object(fake_tensor.FakeTensor, "_normalize_fake_device", staticmethod(indexed)),
    ):
        yield


@contextlib.contextmanager
def _without_function_modes() -> Iterator[None]:
    """Takes the function modes away: Dynamo would trace through them."""
    modes: list[TorchFunctionMode] = []
    while len_torch_function_stack():
        modes.append(pop_torch_function_stack())
    try:
        yield
    finally:
        for mode in reversed(modes):
            push_on_torch_function_stack(mode)


def _put_on_gpu(value: Any) -> Any:
    """Fake tensors as fake tensors on the GPU, in nested lists and tuples."""
    from ..borrowed import fake_tensor

    if isinstance(value, fake_tensor.FakeTensor):
        mode = value.fake_mode
        with fake_tensor.in_kernel_invocation_manager(mode):
            form = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
        return fake_tensor.FakeTensor(mode, form, GPU)
    if isinstance(value, list | tuple):
        return type(value)(map(_put_on_gpu, value))
    return value
