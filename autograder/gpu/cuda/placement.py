"""Says which tensors are on the simulated GPU: a mark on the storage, passed on from inputs to results."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from triton.tools.tensor_descriptor import TensorDescriptor

from ..borrowed import (
    FAKE,
    OPDEFS,
    DisableTorchFunction,
    TorchDispatchMode,
    function_on_cuda,
    get_dispatch_mode,
    len_torch_function_stack,
    schema,
)
from . import allocations, graphs, half_precision, registered
from .lazy_dynamo import lazily

GPU = torch.device("cuda", 0)
Within = Callable[[Any, tuple[Any, ...], dict[str, Any]], contextlib.AbstractContextManager[None]]


def on_gpu(tensor: torch.Tensor) -> bool:
    """Returns whether the tensor's storage is marked. To be called outside a `TorchFunctionMode`, which would be asked,
    too.
    """
    return has_storage(tensor) and bool(getattr(tensor.untyped_storage(), "_on_gpu", False))


def place(tensor: torch.Tensor, gpu: bool) -> torch.Tensor:
    """Marks the tensor's storage as on the GPU, or as not; returns the tensor."""
    if has_storage(tensor):
        _mark(tensor.untyped_storage(), gpu)
    return tensor


def _mark(storage: torch.UntypedStorage, gpu: bool) -> None:
    if gpu and not getattr(storage, "_on_gpu", False):
        allocations.note(storage)
        graphs.allocated(storage)
    storage._on_gpu = gpu  # type: ignore[attr-defined]


def tag(storage: torch.UntypedStorage) -> str | None:
    """The device that `torch.save` writes beside a storage on the GPU; None elsewhere."""
    return str(GPU) if getattr(storage, "_on_gpu", False) else None


def restore(storage: torch.UntypedStorage, location: str) -> torch.UntypedStorage | None:
    """The storage, marked, where `torch.load` is to bring it to the GPU; None elsewhere."""
    if not is_cuda(location):
        return None
    _mark(storage, True)
    return storage


def has_storage(tensor: torch.Tensor) -> bool:
    """Returns whether the tensor is a dense one in this machine's memory, and does not wrap others."""
    dense = tensor.layout == torch.strided and not tensor.is_nested and tensor.device.type == "cpu"
    return dense and not wraps_tensors(type(tensor))


def wraps_tensors(kind: type) -> bool:
    """Returns whether a class of tensors is one around others, which has no memory of its own."""
    return hasattr(kind, "__tensor_flatten__")


def assert_reachable(arguments: Iterable[Any]) -> None:
    """Raises ValueError, as Triton does, where an argument of a launch points to memory that a GPU cannot access: that
    of a tensor which is neither on the GPU nor pinned.
    """
    with DisableTorchFunction():
        for position, value in enumerate(arguments):
            held = [*_pointed(value)]
            if held and not any(map(_reachable, held)):
                raise ValueError(f"Pointer argument (at {position}) cannot be accessed from Triton (cpu tensor?)")


def _pointed(value: Any) -> Iterator[torch.Tensor]:
    """The tensor that an argument is, or those that it holds: a descriptor, or a library's object with a pointer."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple):
        yield from tensors(value)
    elif hasattr(value, "data_ptr") or isinstance(value, TensorDescriptor):
        yield from (held for held in getattr(value, "__dict__", {}).values() if isinstance(held, torch.Tensor))


def _reachable(tensor: torch.Tensor) -> bool:
    return not tensor.numel() or on_gpu(tensor) or bool(getattr(tensor.untyped_storage(), "_pinned", False))


def is_cuda(device: object) -> bool:
    """Returns whether this names a GPU: ``"cuda"``, ``"cuda:0"``, or a `torch.device`. Raises RuntimeError for a second
    GPU.
    """
    if not isinstance(device, str | torch.device) or not str(device).startswith("cuda"):
        return False
    if torch.device(device).index not in (None, 0):
        raise RuntimeError(f"CUDA error: invalid device ordinal: {device}; the simulated CUDA has one GPU, cuda:0")
    return True


def tensors(value: object) -> Iterator[torch.Tensor]:
    """The tensors in nested lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from tensors(part)


def tracing() -> bool:
    """Returns whether fake tensors are being computed with, which know of devices by themselves."""
    return get_dispatch_mode(FAKE) is not None


class Move(torch.autograd.Function):
    """A copy on the other device; its gradient goes back to where the tensor was."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, gpu: bool) -> torch.Tensor:
        """The copy, marked."""
        ctx.gpu = gpu
        if not gpu or not getattr(tensor.untyped_storage(), "_pinned", False):
            graphs.forbid("a copy between host and GPU")
        if graphs.capturing():
            return place(torch.empty_like(tensor), gpu).copy_(tensor)
        return place(tensor.clone(), gpu)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        """The gradient, copied to the device that the tensor came from."""
        with DisableTorchFunction():
            return place(gradient.clone(), not ctx.gpu), None


@lazily
class Placement(TorchDispatchMode):
    """Marks what is computed from a tensor on the GPU as on the GPU, also in the backward pass.

    What a program registered for the GPU is called there, and what the CPU would add up in half precision, and a GPU in
    float32, is added up in float32.

    calls: the mode under which an operator that is written in Python, with `torch.library`, runs. within: called with
    such an operator and its arguments, gives a block around it.
    unlike_gpu: names of operators that computed in half precision and may differ from a GPU's.
    """

    def __init__(self, calls: TorchFunctionMode, within: Within):
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls, self._within = calls, within
        self.unlike_gpu: dict[str, None] = {}

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Lets the compiler trace while the mode is active, which sees what the compiled program calls."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if tracing():
            return func(*args, **kwargs)
        if any(map(wraps_tensors, types)):
            return NotImplemented  # the class computes with what it wraps, which comes here
        written = _in_python(func, [args, kwargs])
        if written:
            called = contextlib.nullcontext() if len_torch_function_stack() else self.calls
            with self, called, self._within(func, args, kwargs):
                return written(*args, **kwargs)
        with DisableTorchFunction():
            if is_cuda(kwargs.get("device")):  # an operator called as such, which no function mode sees
                result = func(*args, **kwargs | {"device": torch.device("cpu")})
                for tensor in tensors(result):
                    place(tensor, True)
                return result
            stored = [tensor for tensor in tensors([args, kwargs]) if has_storage(tensor)]
            if not any(on_gpu(tensor) for tensor in stored):
                return func(*args, **kwargs)
            return self._on_gpu(func, stored, args, kwargs)

    def _on_gpu(self, func: Any, given: list[torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if graphs.capturing():
            result = graphs.operator(func, args, kwargs)
        elif half_precision.needs_float32(func, given):
            result = half_precision.in_float32(func, args, kwargs)
        else:
            result = func(*args, **kwargs)
            if name := half_precision.unlike_gpu(func, given):
                self.unlike_gpu[name] = None
        known = {tensor.untyped_storage().data_ptr() for tensor in given}
        for tensor in tensors(result):
            if has_storage(tensor) and tensor.untyped_storage().data_ptr() not in known - {0}:
                place(tensor, True)
        return result


def _in_python(func: Any, given: object) -> Callable[..., Any] | None:
    """The function that a program registered for the operator, where it is called with tensors on the GPU:
    with `torch.library.custom_op`, or with `torch.library.Library.impl` for the dispatch key "CUDA".
    """
    definition, function = OPDEFS.get(schema(func).name), registered.of(func)
    if definition is None and function is None:
        return None
    with DisableTorchFunction():
        real = [
            tensor for tensor in tensors(given) if type(tensor) in (torch.Tensor, torch.nn.Parameter)
        ]  # not the compiler's
        if not any(map(on_gpu, real)):
            return None
    if function is None and definition is not None:
        function = function_on_cuda(definition)
    return function
