"""The functions of `torch.cuda` for one simulated GPU: properties, streams, events, memory, random numbers."""

import contextlib
import struct
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Self

import torch

from . import memory
from .placement import GPU, is_cuda

MEMORY = min(80 << 30, memory.total())  # never more than can be had: suites ask, and leave out what does not fit
NAME = f"an NVIDIA A100-SXM4-80GB with this machine's {MEMORY >> 30} GiB of memory"
PROPERTIES = SimpleNamespace(
    name="NVIDIA A100-SXM4-80GB",
    major=8,
    minor=0,
    total_memory=MEMORY,
    multi_processor_count=108,
    warp_size=32,
    max_threads_per_block=1024,
    max_threads_per_multi_processor=2048,
    regs_per_multiprocessor=65536,
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=166912,
    shared_memory_per_multiprocessor=167936,
    L2_cache_size=40 << 20,
    is_integrated=False,
    is_multi_gpu_board=False,
)


class Stream:
    """A stream with nothing to wait for: everything has happened when a call returns."""

    def __init__(self, device: object = None, priority: int = 0, **_: object):
        self.device, self.priority, self.cuda_stream, self.stream_id, self.device_index = GPU, priority, 0, 0, 0

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def query(self) -> bool:
        return True

    def is_capturing(self) -> bool:
        return False

    def synchronize(self) -> None:
        pass

    def wait_event(self, event: "Event") -> None:
        pass

    def wait_stream(self, stream: "Stream") -> None:
        pass

    def record_event(self, event: "Event | None" = None) -> "Event":
        return event or Event()


class Event:
    """An event that has happened. Times mean nothing here: any two events are a millisecond apart."""

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ):
        self.device = GPU

    def record(self, stream: Stream | None = None) -> None:
        pass

    def wait(self, stream: Stream | None = None) -> None:
        pass

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: "Event") -> float:
        return 1.0


class Device(contextlib.AbstractContextManager["Device", None]):
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
    Device(device)


def empty_strided(size: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """An uninitialised tensor on the GPU."""
    return torch.empty_strided(size, stride, dtype=dtype, device=GPU)


def nothing(*args: object, **kwargs: object) -> None:
    """Stands for a function that has nothing to do here."""


def replacements() -> dict[str, Any]:
    """What each name of `torch.cuda` is replaced with."""
    stream = Stream()
    same = {
        **{name: True for name in ("is_available", "is_initialized", "is_bf16_supported", "is_tf32_supported")},
        **{name: 0 for name in ("current_device", "memory_allocated", "max_memory_allocated", "memory_reserved")},
        **{name: 0 for name in ("max_memory_reserved", "max_memory_cached", "memory_cached")},
        **{name: 0 for name in ("_exchange_device", "_maybe_exchange_device")},
        "device_count": 1,
        **{"get_device_name": PROPERTIES.name, "get_device_capability": (8, 0), "get_device_properties": PROPERTIES},
        **{"current_stream": stream, "default_stream": stream, "get_arch_list": ["sm_80"]},
        **{"is_current_stream_capturing": False, "_is_in_bad_fork": False, "memory_stats": {}, "utilization": 0},
    }
    made: dict[str, Any] = {name: lambda *args, _value=value, **kwargs: _value for name, value in same.items()}
    idle = (
        "init _lazy_init synchronize empty_cache ipc_collect reset_peak_memory_stats reset_max_memory_allocated "
        "set_stream manual_seed manual_seed_all reset_accumulated_memory_stats set_per_process_memory_fraction"
    )
    made |= {name: nothing for name in idle.split()}
    made |= {"Stream": Stream, "Event": Event, "ExternalStream": Stream, "device": Device, "device_of": Device}
    made |= {"set_device": set_device, "stream": lambda stream: stream or contextlib.nullcontext()}
    default = Default()
    made |= {"manual_seed": default.manual_seed, "manual_seed_all": default.manual_seed, "seed": torch.seed}
    made |= {"default_generators": (default,)}
    made |= {"get_rng_state": lambda device=None: torch.get_rng_state(), "initial_seed": torch.initial_seed}
    made |= {"set_rng_state": lambda state, device=None: torch.set_rng_state(state), "seed_all": torch.seed}
    return made | {"mem_get_info": lambda device=None: (min(MEMORY, memory.free()), MEMORY)}


def accelerator() -> dict[str, Any]:
    """What each function of `torch._C` that `torch.accelerator` calls is replaced with: one GPU, index 0."""
    return {
        "_accelerator_getAccelerator": lambda: torch.device("cuda"),
        "_get_accelerator": lambda check=None: torch.device("cuda"),
        "_accelerator_getDeviceIndex": lambda: 0,
        "_accelerator_setDeviceIndex": set_device,
        "_accelerator_exchangeDevice": lambda index: 0,
        "_accelerator_maybeExchangeDevice": lambda index: 0,
        "_accelerator_getStream": lambda index: Stream(),
        "_accelerator_setStream": nothing,
        "_accelerator_synchronizeDevice": nothing,
        "_accelerator_isAllocatorInitialized": lambda: False,
        "_accelerator_getMemoryInfo": lambda index: (min(MEMORY, memory.free()), MEMORY),
    }
