"""Calls of PyTorch that name or ask for a device: ``device="cuda"``, ``.cuda()``, ``x.is_cuda``."""

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ..aten import ATEN
from ..borrowed import device_constructors
from . import graphs, streams
from .autocast import widened
from .placement import GPU, Move, is_cuda, on_gpu, place, tensors, tracing

CPU = torch.device("cpu")
_TorchFunction = Callable[..., Any]


class DeviceCalls(TorchFunctionMode):
    """Carries out on the CPU what is asked of a GPU, and remembers which tensors are on the simulated one.

    default: whether tensors are made on the GPU where a call names no device.
    """

    def __init__(self) -> None:
        super().__init__()
        self.default = False
        self._makers: set[_TorchFunction] = device_constructors()

    def __torch_function__(
        self, func: _TorchFunction, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs, name = dict(kwargs or {}), getattr(func, "__name__", "")
        if name == "__get__":
            return _property(func, args)
        if tracing():
            return func(*args, **kwargs)
        if name in _METHODS and args and isinstance(args[0], torch.Tensor):
            return _METHODS[name](func, *args, **kwargs)
        args, kwargs = widened(name, args, kwargs)
        if func in self._makers and kwargs.pop("pin_memory", False):
            return _pinned(func, func(*args, **kwargs))
        wanted = _wanted(kwargs)
        if wanted is None and func in self._makers and self.default:
            wanted = True
        if wanted is None:
            return func(*args, **kwargs)
        kwargs["device"] = CPU
        if name in ("as_tensor", "asarray") and isinstance(args[0], torch.Tensor):
            return _to(
                torch.Tensor.to, args[0], GPU if wanted else CPU, *([kwargs["dtype"]] if "dtype" in kwargs else [])
            )
        addresses = {tensor.untyped_storage().data_ptr() for tensor in tensors(args) if tensor.layout == torch.strided}
        result = func(*args, **kwargs)
        for tensor in tensors(result):
            if tensor.layout == torch.strided and tensor.untyped_storage().data_ptr() not in addresses - {0}:
                place(tensor, wanted)
        if wanted and graphs.capturing() and ATEN.base(name) not in ATEN.allocate:
            data = next(tensors(result)).data
            graphs.noted(lambda: data.copy_(func(*args, **kwargs)))
        return result


def _wanted(kwargs: dict[str, Any]) -> bool | None:
    """Returns whether the call names the GPU (True) or another device (False), or none (None)."""
    device = kwargs.get("device")
    if device is None:
        return None
    if isinstance(device, int) and not isinstance(device, bool):
        return is_cuda(f"cuda:{device}")
    if str(device).startswith("meta"):
        return None
    return is_cuda(device)


def _property(func: Any, args: tuple[Any, ...]) -> Any:
    name, tensor = getattr(func.__self__, "__name__", ""), args[0]
    if name in ("device", "is_cuda", "is_cpu") and isinstance(tensor, torch.Tensor) and on_gpu(tensor):
        return {"device": GPU, "is_cuda": True, "is_cpu": False}[name]
    result = func(*args)
    if name == "grad" and result is not None and on_gpu(tensor):
        place(result, True)
    return result


def _move(tensor: torch.Tensor, gpu: bool) -> torch.Tensor:
    if on_gpu(tensor) == gpu or tensor.is_meta:
        return tensor
    if not gpu:
        streams.current().synchronize()
    moved: torch.Tensor = Move.apply(tensor, gpu)  # type: ignore[no-untyped-call]
    return moved


def _to(func: _TorchFunction, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    first = args[0] if args else None
    gpu: bool | None = None
    if isinstance(first, torch.Tensor):
        gpu = on_gpu(first)
    elif isinstance(first, str | torch.device | int) and not isinstance(first, bool):
        device = f"cuda:{first}" if isinstance(first, int) else first
        if not str(device).startswith("meta"):
            gpu, args = is_cuda(device), (CPU, *args[1:])
    elif kwargs.get("device") is not None and not str(kwargs["device"]).startswith("meta"):
        gpu, kwargs["device"] = _wanted(kwargs), CPU
    moved = tensor if gpu is None else _move(tensor, gpu)
    copy = kwargs.pop("copy", False) if moved is not tensor else None
    if copy is None:
        return func(tensor, *args, **kwargs)
    return func(moved, *args, **kwargs)


def _cuda(
    func: _TorchFunction,
    tensor: torch.Tensor,
    device: Any = None,
    non_blocking: bool = False,
    memory_format: Any = None,
) -> torch.Tensor:
    is_cuda(f"cuda:{device}" if isinstance(device, int) else device)
    return _move(tensor, True)


def _cpu(func: _TorchFunction, tensor: torch.Tensor, memory_format: Any = None) -> torch.Tensor:
    return _move(tensor, False)


def _on_host(func: _TorchFunction, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    if on_gpu(tensor):
        message = "can't convert cuda:0 device type tensor to numpy."
        raise TypeError(f"{message} Use Tensor.cpu() to copy the tensor to host memory first.")
    return func(tensor, *args, **kwargs)


def _type(func: _TorchFunction, tensor: torch.Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    if dtype is None:
        name = func(tensor)
        return name.replace("torch.", "torch.cuda.", 1) if on_gpu(tensor) else name
    if isinstance(dtype, str) and dtype.startswith("torch.cuda."):
        return func(_move(tensor, True), dtype.replace("torch.cuda.", "torch."), *args, **kwargs)
    return func(tensor, dtype, *args, **kwargs)


def _copied(func: _TorchFunction, tensor: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    """`copy.deepcopy`, which copies the storage and would lose its mark."""
    known = id(tensor) in memo
    copy: torch.Tensor = func(tensor, memo)
    return copy if known else place(copy, on_gpu(tensor))


def _told(func: _TorchFunction, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """Returns what the host asks for, which waits until it is there."""
    streams.current().synchronize()
    return func(tensor, *args, **kwargs)


def _pinned(func: _TorchFunction, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    if on_gpu(tensor):
        raise RuntimeError(f"cannot pin '{_type(torch.Tensor.type, tensor)}' only dense CPU tensors can be pinned")
    tensor.untyped_storage()._pinned = True  # type: ignore[attr-defined]
    return tensor


_TELL = "item tolist equal allclose nonzero unique masked_select __bool__ __int__ __float__ __index__ __repr__".split()
_METHODS: dict[str, _TorchFunction] = {
    **dict.fromkeys(_TELL, _told),
    "to": _to,
    "cuda": _cuda,
    "cpu": _cpu,
    "numpy": _on_host,
    "__array__": _on_host,
    "type": _type,
    "__deepcopy__": _copied,
    "pin_memory": _pinned,
    "is_pinned": lambda func, tensor, *args, **kwargs: getattr(tensor.untyped_storage(), "_pinned", False),
    "get_device": lambda func, tensor: 0 if on_gpu(tensor) else -1,
}
