"""The functions of `torch.cuda` for one simulated GPU: properties, streams, events, memory, random numbers."""

import contextlib
import struct
from collections.abc import Sequence
from typing import Any, Self

import torch

from ..devices import Properties
from . import allocations, graphs, memory_size, streams
from .placement import GPU, is_cuda


class DeviceContext(contextlib.AbstractContextManager["DeviceContext", None]):
    """Stands for `torch.cuda.device` and `device_of`. Raises RuntimeError for a second GPU."""

    def __init__(self, device: Any = None):
        is_cuda(f"cuda:{device}" if isinstance(device, int) and device >= 0 else device)
        self.idx, self.prev_idx = 0, 0

    def __exit__(self, *error: object) -> None:
        pass


class Generator(torch.Generator):
    """A generator on the CPU that says it is where it was asked to be."""

    gpu: bool

    def __new__(cls, device: Any = "cpu") -> Self:
        self = super().__new__(cls, "cpu" if is_cuda(device) else device)  # type: ignore[call-arg]
        self.gpu = is_cuda(device)
        return self

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return GPU if self.gpu else torch.device("cpu")


class Default(Generator):
    """Stands for `torch.cuda.default_generators[0]`, whose seed and offset kernels read: its state is 8 bytes of each.

    PyTorch's own random numbers are the CPU's; the offset moves only when a program sets it.
    """

    offset: int

    def __new__(cls) -> Self:
        self = super().__new__(cls, GPU)
        self.offset = 0
        return self

    def initial_seed(self) -> int:
        return torch.initial_seed()

    def manual_seed(self, seed: int) -> "Default":
        self.offset = 0
        torch.default_generator.manual_seed(seed)  # not torch.manual_seed, which calls torch.cuda.manual_seed_all
        return self

    def get_state(self) -> torch.Tensor:
        state = struct.pack("=Qq", self.initial_seed(), self.offset)
        return torch.frombuffer(bytearray(state), dtype=torch.uint8)

    def set_state(self, state: torch.Tensor) -> "Default":
        seed, offset = struct.unpack("=Qq", bytes(state.tolist()))
        if seed != self.initial_seed():
            self.manual_seed(seed)
        self.offset = offset
        return self


def set_device(device: Any) -> None:
    """Raises RuntimeError for a second GPU."""
    DeviceContext(device)


def empty_strided(size: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """An uninitialised tensor on the GPU."""
    return torch.empty_strided(size, stride, dtype=dtype, device=GPU)


def synchronize(device: object = None) -> None:
    """Everything has happened. Raises RuntimeError, as CUDA does, while a graph is captured."""
    graphs.forbid("the host waits for the device")
    streams.wait_for_all()


def nothing(*args: object, **kwargs: object) -> None:
    """Stands for a function that has nothing to do here."""


def replacements(gpu: Properties) -> dict[str, Any]:
    """Returns what each name of `torch.cuda` is replaced with."""
    same = {
        **{name: True for name in ("is_available", "is_initialized", "is_bf16_supported", "is_tf32_supported")},
        **{name: 0 for name in ("current_device", "_exchange_device", "_maybe_exchange_device", "utilization")},
        **{"device_count": 1, "get_device_name": gpu.name, "get_device_properties": gpu},
        **{"get_arch_list": [f"sm_{gpu.architecture}"], "_is_in_bad_fork": False},
    }
    functions: dict[str, Any] = {name: lambda *args, _value=value, **kwargs: _value for name, value in same.items()}
    idle = "init _lazy_init empty_cache ipc_collect set_per_process_memory_fraction"
    functions |= {name: nothing for name in idle.split()}
    functions |= {"synchronize": synchronize, "get_device_capability": lambda device=None: (gpu.major, gpu.minor)}
    functions |= {"device": DeviceContext, "device_of": DeviceContext, "set_device": set_device}
    functions |= {"Stream": streams.Stream, "Event": streams.Event, "ExternalStream": streams.Stream}
    functions |= {"stream": streams.Entered, "StreamContext": streams.Entered, "set_stream": streams.set_current}
    functions |= {"is_current_stream_capturing": graphs.capturing, "graph_pool_handle": graphs.graph_pool_handle}
    functions |= {"current_stream": streams.current, "default_stream": streams.default}
    return functions | _memory(gpu) | _random()


def _memory(gpu: Properties) -> dict[str, Any]:
    now = ("memory_allocated", "memory_reserved", "memory_cached")
    most = ("max_memory_allocated", "max_memory_reserved", "max_memory_cached")
    forget = ("reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached")
    functions: dict[str, Any] = dict.fromkeys(now, allocations.bytes_now) | dict.fromkeys(
        most, allocations.bytes_at_most
    )
    functions |= dict.fromkeys(forget, allocations.reset_peak)
    functions |= {
        "reset_accumulated_memory_stats": allocations.reset_accumulated,
        "memory_stats": allocations.statistics,
    }
    return functions | {"mem_get_info": lambda device=None: _free_and_total(gpu)}


def _free_and_total(gpu: Properties) -> tuple[int, int]:
    return min(gpu.total_memory, memory_size.free()), gpu.total_memory


def _random() -> dict[str, Any]:
    default = Default()
    functions: dict[str, Any] = dict.fromkeys(("manual_seed", "manual_seed_all"), default.manual_seed)
    functions |= {"default_generators": (default,), "initial_seed": torch.initial_seed}
    functions |= dict.fromkeys(("seed", "seed_all"), torch.seed)
    functions |= {"get_rng_state": lambda device=None: torch.get_rng_state()}
    return functions | {"set_rng_state": lambda state, device=None: torch.set_rng_state(state)}


def accelerator(gpu: Properties) -> dict[str, Any]:
    """Returns what each function of `torch._C` that `torch.accelerator` calls is replaced with: one GPU, index 0."""
    return {
        "_accelerator_getAccelerator": lambda: torch.device("cuda"),
        "_get_accelerator": lambda check=None: torch.device("cuda"),
        "_accelerator_getDeviceIndex": lambda: 0,
        "_accelerator_setDeviceIndex": set_device,
        "_accelerator_exchangeDevice": lambda index: 0,
        "_accelerator_maybeExchangeDevice": lambda index: 0,
        "_accelerator_getStream": streams.current,
        "_accelerator_setStream": streams.set_current,
        "_accelerator_synchronizeDevice": synchronize,
        "_accelerator_isAllocatorInitialized": lambda: True,
        "_accelerator_emptyCache": nothing,
        "_accelerator_getDeviceStats": lambda index: allocations.nested(),
        "_accelerator_resetPeakStats": allocations.reset_peak,
        "_accelerator_resetAccumulatedStats": allocations.reset_accumulated,
        "_accelerator_getMemoryInfo": lambda index: _free_and_total(gpu),
    }
