"""The machines a kernel is compiled for."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """backend, arch, warp_size: as Triton's ``GPUTarget`` takes them. shared: bytes of shared memory for a program."""

    name: str
    device: str
    backend: str
    arch: int | str
    warp_size: int
    shared: int

    @classmethod
    def named(cls, names: str | Iterable[str] = "sm_90") -> "tuple[Target, ...]":
        """The targets of these names, in the order of `TARGETS`; every one for ``"all"``. Raises ValueError for any
        other name.
        """
        wanted = {names} if isinstance(names, str) else set(names)
        if wanted == {"all"}:
            return TARGETS
        known = {target.name for target in TARGETS}
        if not wanted or wanted - known:
            wrong = ", ".join(sorted(wanted - known)) or "nothing"
            raise ValueError(f"{wrong!r} is not a GPU to compile for; name {', '.join(sorted(known))}, or all")
        return tuple(target for target in TARGETS if target.name in wanted)

    def refuses(self, shared: int) -> list[str]:
        """A sentence about a program that needs more shared memory than there is; none about one that does not."""
        if shared <= self.shared:
            return []
        return [f"a program needs {shared:,} bytes of shared memory and {self.device} has {self.shared:,}"]


# Shared memory a block may opt in to: CUDA C++ Programming Guide, table of technical specifications per compute
# capability; LDS of a workgroup: AMD Instinct MI300 instruction set architecture.
TARGETS = (
    Target("sm_80", "NVIDIA A100", "cuda", 80, 32, 163 * 1024),
    Target("sm_90", "NVIDIA H100 and H200", "cuda", 90, 32, 227 * 1024),
    Target("sm_100", "NVIDIA B200", "cuda", 100, 32, 227 * 1024),
    Target("gfx942", "AMD MI300", "hip", "gfx942", 64, 64 * 1024),
)
