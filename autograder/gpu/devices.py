"""The GPUs that can be simulated, as `torch.cuda.get_device_properties` and Triton's driver describe them.

Sources: NVIDIA's data sheets and the table of compute capabilities in the CUDA C++ programming guide.
This module imports no PyTorch.
"""

from dataclasses import dataclass, field


@dataclass
class Properties:
    """Holds what a program may ask of its GPU. Sizes are in bytes, clocks in kHz, the bus in bits.

    asked: whether it asked for the capability, which programs do before they choose a kernel.
    """

    name: str
    capability: tuple[int, int]
    multi_processor_count: int
    total_memory: int
    shared_memory_per_multiprocessor: int
    L2_cache_size: int
    clock_rate: int
    memory_clock_rate: int
    memory_bus_width: int
    asked: bool = field(default=False, repr=False)
    warp_size: int = 32
    max_threads_per_block: int = 1024
    max_threads_per_multi_processor: int = 2048
    regs_per_multiprocessor: int = 65536
    shared_memory_per_block: int = 48 << 10
    is_integrated: bool = False
    is_multi_gpu_board: bool = False

    @property
    def shared_memory_per_block_optin(self) -> int:
        """All of a multiprocessor's but the kibibyte that CUDA keeps."""
        return self.shared_memory_per_multiprocessor - 1024

    @property
    def major(self) -> int:
        """The compute capability's first number."""
        self.asked = True
        return self.capability[0]

    @property
    def minor(self) -> int:
        """Its second number."""
        return self.capability[1]

    @property
    def architecture(self) -> int:
        """80 for sm_80."""
        return 10 * self.capability[0] + self.capability[1]

    @property
    def title(self) -> str:
        """Returns what a report calls it."""
        return f"an {self.name} with this machine's {self.total_memory >> 30} GiB of memory"


DEVICES = {
    "a100": Properties("NVIDIA A100-SXM4-80GB", (8, 0), 108, 80 << 30, 164 << 10, 40 << 20, 1410000, 1593000, 5120),
    "h100": Properties("NVIDIA H100 80GB HBM3", (9, 0), 132, 80 << 30, 228 << 10, 50 << 20, 1980000, 2619000, 5120),
    "b200": Properties("NVIDIA B200", (10, 0), 148, 179 << 30, 228 << 10, 126 << 20, 1965000, 3996000, 8192),
}
DEFAULT = "a100"  # of a program
JUDGED = "h100"  # of a function that is judged: its kernels are compiled for sm_90
