"""How many programs of a launch a multiprocessor of an H100 runs at once, from what the compiler says of it.

    min(64 / warps, 65536 / (32 · warps · registers), 228 KiB / (shared + 1 KiB), 32),   each rounded down

The limits are those of compute capability 9.0 in NVIDIA's CUDA C++ Programming Guide. Registers are handed out in units
of 256 a warp, which is 8 a thread.
"""

import torch


# %% programs_at_once
def programs_at_once(launches: torch.Tensor) -> torch.Tensor:
    """(L,) int64: how many programs of each of the L launches run on a multiprocessor of an H100 at once. launches:
    (L, 4) int64, each row num_warps, registers a thread, bytes a thread spills, bytes of shared memory a program.

    A multiprocessor has 64 warps, 65,536 registers, of which a thread takes a multiple of 8, 228 KiB of shared memory,
    of which a program takes 1 KiB more than it asks for, and room for 32 programs. 0 for a launch that spills.
    """
    warps, registers, spilled, shared = launches.unbind(1)
    by_registers = 65_536 // (32 * warps * (-(-registers // 8) * 8))
    by_shared = 228 * 1024 // (shared + 1024)
    least = torch.minimum(torch.minimum(64 // warps, by_registers), by_shared)
    return torch.where(spilled > 0, 0, least.clamp(max=32))
