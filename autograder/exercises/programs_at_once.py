"""Says how many programs of a launch a multiprocessor of an H100 runs at once, from what the compiler says of it.

The limits are those of compute capability 9.0 in NVIDIA's CUDA C++ Programming Guide, "Technical Specifications per
Compute Capability". Registers are handed out in units of 256 a warp, which is 8 a thread.
"""

import torch
from torch import Generator, Tensor

from ..judge import Exercise, Output, Values, case, draw
from .cases.wording import AGAIN, KEEP_NOTHING

WARPS, PROGRAMS, REGISTERS, SHARED = 64, 32, 65_536, 228 * 1024  # of a multiprocessor
OF_EACH = 1024  # bytes of shared memory that a program takes beside its own


def at_once(launches: Tensor) -> Tensor:
    """The least of what warps, registers and shared memory leave room for; 0 where a thread spills."""
    warps, registers, spilled, shared = launches.unbind(1)
    by_registers = REGISTERS // (32 * warps * ((registers + 7) // 8 * 8))
    room = torch.stack((WARPS // warps, by_registers, SHARED // (shared + OF_EACH))).amin(0)
    return room.clamp(max=PROGRAMS) * (spilled == 0)


def launches(
    count: int = 8,
    warps: tuple[int, ...] = (4, 8),
    registers: tuple[int, int] = (24, 161),
    shared: tuple[int, int] = (8 * 1024, 64 * 1024),
    spilled: tuple[int, int] = (0, 1),
) -> Values:
    """So many launches; of each interval the upper end is left out."""

    def make(generator: Generator) -> Tensor:
        chosen = torch.randint(len(warps), (count,), generator=generator)
        rest = [torch.randint(*ends, (count,), generator=generator) for ends in (registers, spilled, shared)]
        return torch.stack((torch.tensor(warps)[chosen], *rest), 1)

    return draw.by(make)


NONE = (0, 1)
CASES = (
    case(
        "ordinary values",
        "Begin here. Three stores run out; how many programs does each have room for?",
        launches=launches(),
    ),
    case(AGAIN, KEEP_NOTHING, launches=launches()),
    case(
        "few registers",
        "No shared memory at all: warps are what runs out.",
        launches=launches(registers=(8, 33), shared=NONE),
    ),
    case(
        "registers run out",
        "A thread's registers are rounded up to a multiple of 8: 129 take as much as 136.",
        launches=launches(20, registers=(41, 256), shared=NONE),
    ),
    case(
        "memory runs out",
        "Each program takes 1024 bytes more than the compiler says.",
        launches=launches(20, registers=(24, 33), shared=(10 * 1024, 80 * 1024)),
    ),
    case(
        "one warp",
        "64 warps have room, and no more than 32 programs.",
        launches=launches(warps=(1,), registers=(16, 33), shared=(0, 2048)),
    ),
    case("32 warps", "A program has 1024 threads at most.", launches=launches(warps=(32,), registers=(24, 65))),
    case(
        "too many registers",
        "A program whose registers the multiprocessor does not have runs 0 times.",
        launches=launches(warps=(16, 32), registers=(137, 256)),
    ),
    case(
        "as much memory as there is",
        "A program may have 227 KiB, and not one byte more.",
        launches=draw.tensor(
            [[4, 64, 0, 227 * 1024], [4, 64, 0, 227 * 1024 + 1], [8, 32, 0, 113 * 1024], [8, 32, 0, 115_713]]
        ),
    ),
    case("spills", "What spills is left out: 0, however much room there is.", launches=launches(spilled=(0, 3))),
    case("one launch", "One row goes in, one number comes out.", launches=launches(1)),
    case("no launches", "No row goes in, an empty tensor comes out.", launches=launches(0)),
    case("transposed", "The table is transposed: a launch is a row of it.", launches=launches(7).transposed()),
    case("every second column", "The stride of the last dimension is 2.", launches=launches(7).every_second()),
)

programs_at_once = Exercise(
    name="programs_at_once",
    summary="min(64 / warps, 65536 / (32 · warps · registers), 228 KiB / (shared + 1 KiB), 32) of each launch, rounded "
    "down; registers of a thread in steps of 8; 0 where a thread spills",
    oracle=at_once,
    outputs=(Output("programs", torch.int64),),
    cases=CASES,
    hint="Whole programs have room or not: three divisions, rounded down, and the least of them.",
    backends=("torch",),
    points=2,
    about=("registers run out", "memory runs out", "spills"),
)
