"""Dynamo, PyTorch's tracer, on the simulated GPU: it splits a function into graphs as it would on a GPU.

What it learns of devices comes from fake tensors (`fake_tensors`). A graph is on the GPU or on the host: where a
function goes from one to the other Dynamo breaks the graph, as at a ``print``, and what is between runs as written.
"""

import contextlib
import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from ..borrowed import DeviceContext, DisableTorchFunction, FakeTensor
from . import placement
from .placement import GPU, tensors
from .streams import Event, Stream

_CPU = torch.device("cpu")
_CROSSES = "the function goes from the GPU to the host, or back"
_GRADER = str(Path(__file__).parents[2])  # its functions are no part of the program
_SETTINGS = {"disable": False, "recompile_limit": 1 << 10, "accumulated_recompile_limit": 1 << 16}  # many shapes


@contextlib.contextmanager
def traced(begin: Callable[[], None], failed: Callable[[Any, Exception], None]) -> Iterator[None]:
    """Has Dynamo trace the program's functions. begin: called before. failed: told of one that cannot be compiled, and
    why; it is called as it is. Dynamo does not see the modes that simulate the GPU, through which it would trace.
    """
    from ..borrowed import RootGuardManager, TorchRuntimeError, Unsupported, convert_frame
    from ..borrowed import dynamo_builder as builder
    from ..borrowed import dynamo_config as config
    from ..borrowed import dynamo_reset as reset
    from ..borrowed import dynamo_utils as utils

    convert: Callable[..., Any] = convert_frame.CatchErrorsWrapper.__call__
    set_modes: Callable[[list[Any]], None] = utils.set_torch_function_mode_stack
    value_of: Callable[..., Any] = builder.get_fake_value
    parted: Unsupported | None = None  # where the frame's graph ended and a GPU's would not

    def converted(wrapper: Any, frame: Any, *state: Any) -> Any:
        nonlocal parted
        if frame.f_code.co_filename.startswith(_GRADER):
            return convert_frame.ConvertFrameReturn()
        begin()
        modes = utils.get_torch_function_mode_stack()
        set_modes([mode for mode in modes if isinstance(mode, DeviceContext)])
        parted = None
        try:
            try:
                conversion = convert(wrapper, frame, *state)
            except TorchRuntimeError:
                with _told_of_a_gpu():
                    conversion = convert(wrapper, frame, *state)
            if parted and not _resumes(conversion.guarded_code):
                failed(frame.f_code, parted)
            return conversion
        except Exception as error:
            failed(frame.f_code, error)
            return convert_frame.ConvertFrameReturn()
        finally:
            set_modes(modes)

    def unguarded(*_: object) -> None:
        """No graph depends on the hidden modes, which are active when it runs."""

    def left(stack: list[Any]) -> None:
        """Says what a graph leaves behind where the function entered a mode, such as a `torch.device`."""
        hidden = [mode for mode in utils.get_torch_function_mode_stack() if not isinstance(mode, DeviceContext)]
        set_modes(stack + [mode for mode in hidden if mode not in stack])

    def valued(node: Any, *args: Any, **named: Any) -> Any:
        nonlocal parted
        value = value_of(node, *args, **named)
        if why := _parted(node, value):
            parted = Unsupported(why)
            raise parted
        return value

    reset()  # what was compiled without the simulated GPU
    with (
        contextlib.ExitStack() as stack,
        config.patch(_SETTINGS),
        patch.object(convert_frame.CatchErrorsWrapper, "__call__", converted),
        patch.object(RootGuardManager, "add_torch_function_mode_stack_guard", unguarded),
        patch.object(utils, "set_torch_function_mode_stack", left),
        patch.object(builder, "get_fake_value", valued),
    ):
        stack.callback(reset)
        yield


@contextlib.contextmanager
def _told_of_a_gpu() -> Iterator[None]:
    """Fake tensors are on the CPU, and a function is told that all is on the GPU. For one that differentiates: the
    engine of autograd looks for the GPU that a fake tensor is on.
    """
    from ..borrowed import TensorVariable

    known: Callable[..., dict[str, Any]] = TensorVariable.specialize

    def specialized(value: torch.Tensor) -> dict[str, Any]:
        return known(value) | {"device": GPU}

    with faked_on_cpu(), patch.object(TensorVariable, "specialize", staticmethod(specialized)):
        yield


@contextlib.contextmanager
def faked_on_cpu() -> Iterator[None]:
    """Fake tensors that are made in the block are on the CPU, not on the GPU."""
    from ..borrowed import normalize_fake_device as normal

    def on_cpu(device: torch.device) -> torch.device:
        return _CPU if device.type == "cuda" else normal(device)

    with patch.object(FakeTensor, "_normalize_fake_device", staticmethod(on_cpu)):
        yield


def _parted(node: torch.fx.Node, value: object) -> str:
    """Why a graph ends in front of an operator that it would hold on a GPU, "" where it does not: it goes from GPU to
    host or back, or is not where the graph's others are. A number of the host, a tensor without dimensions, can go into
    an operator on the GPU. Simulated streams and events are no objects that PyTorch finds again.
    """
    if isinstance(value, Stream | Event):
        return "the function uses a stream or an event"
    inputs = [tensor for input_node in node.all_input_nodes for tensor in tensors(input_node.meta.get("example_value"))]
    here = _devices([*tensors(value), *(tensor for tensor in inputs if tensor.dim())])
    computed = (other for other in reversed(node.graph.nodes) if other is not node and other.op != "placeholder")
    devices = (_devices(tensors(other.meta.get("example_value"))) for other in computed)
    before: set[str] = next(filter(None, devices), set())
    return _CROSSES if len(here | before) > 1 else ""


def _resumes(compiled: Any) -> bool:
    """Returns whether Dynamo goes on behind the break, in a function of its own. Within a loop, say, it does not."""
    return bool(compiled) and any(name.startswith("__resume_at") for name in compiled.code.co_names)


def _devices(given: Iterator[torch.Tensor] | list[torch.Tensor]) -> set[str]:
    return {tensor.device.type for tensor in given}


def on_gpu(graph: torch.fx.GraphModule, inputs: list[Any]) -> bool:
    """Says whether a graph of Dynamo's computes on the GPU. Raises RuntimeError where it does so on the host, too."""
    fakes = [tensor for node in graph.graph.nodes for tensor in tensors(node.meta.get("example_value"))]
    named = [argument for node in graph.graph.nodes for argument in (node.target, *node.args, *node.kwargs.values())]
    with DisableTorchFunction():  # a subclass that wraps tensors has a device, and no storage
        there = [placement.on_gpu(tensor) or tensor.is_cuda for tensor in tensors(inputs)]
        numbers = [not tensor.dim() for tensor in tensors(inputs)]
    computes = any(there) or "cuda" in _devices(fakes)
    if computes and (not all(map(operator.or_, there, numbers)) or any(str(argument) == "cpu" for argument in named)):
        raise RuntimeError(_CROSSES)
    return computes
