"""Says what a thread of a launch carries out, by its machine code: loops multiplied out, widths, barriers, spills.
Imports the standard library and Triton only.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from .disassembly import Instruction, LoopRange, disassemble, loops, shortest
from .trips import source_loops

# A product of the tensor cores: H of float16, bfloat16, TF32, I of int8, Q of float8; M x N x K by a warp, or by four.
_PRODUCT = re.compile(r"[HIQ](?:MMA\.(16)(8)(8|16|32)|GMMA\.(\d+)x(\d+)x(\d+))\b")
_TIME = {"H": 1.0, "I": 0.5, "Q": 0.5}  # of an operation, over one of bfloat16: NVIDIA's datasheets of H100 and H200


@dataclass(frozen=True)
class CompiledLaunch:
    """A launch as compilers left it. ttir: what Triton's front end made of it; cubin: what the assembler made. numbers:
    integer parameters and constants by name.
    """

    ttir: str
    cubin: bytes
    numbers: dict[str, Any]
    grid: tuple[int, ...]
    warps: int


@dataclass(frozen=True)
class Thread:
    """instructions, mufu: by the shortest way to the last store through the source's loops; mufu: of these the special
    functions. at_most: all of the code. products: operations of the tensor cores, as many of bfloat16 as take the same
    time: of int8 and float8 half, of TF32 twice. moved: bytes loaded and stored. spills: loads and stores of local
    memory. loads, stores: how many of each width in bits, each counted once. notes: what makes the count unsure.
    """

    instructions: float
    at_most: float
    mufu: float
    products: float
    moved: float
    registers: int
    spills: int
    barriers: int
    loads: dict[str, int]
    stores: dict[str, int]
    notes: tuple[str, ...]


def thread_of(launch: CompiledLaunch) -> Thread:
    """Returns what a thread of the middle program carries out. Raises MissingTool."""
    code, registers = disassemble(launch.cubin)
    weighted = _weighted(launch, code)
    times, names = weighted.times, Counter(op.name for op in code)
    of_way = [op for op in code if op.address in weighted.short]
    return Thread(
        instructions=sum(times[op.address] for op in of_way),
        at_most=sum(times.values()),
        mufu=sum(times[op.address] for op in of_way if op.name == "MUFU"),
        products=sum(times[op.address] * _product(op) for op in code),
        moved=sum(op.bits / 8 * times[op.address] for op in code if op.access),
        registers=registers,
        spills=names["LDL"] + names["STL"],
        barriers=names["BAR"],
        loads=_widths(code, "loads"),
        stores=_widths(code, "stores"),
        notes=(*weighted.notes, *_waits(code)),
    )


@dataclass(frozen=True)
class _Weighted:
    """Holds how often each instruction is carried out by a thread, and which are on the shortest way."""

    times: dict[int, float]
    short: set[int]
    notes: tuple[str, ...]


def _weighted(launch: CompiledLaunch, code: list[Instruction]) -> _Weighted:
    ranges = loops(code)
    trips, notes = _trips(launch, code, ranges)
    ways = {loop: shortest(code, *loop) for loop in ranges}
    around = {op.address: [loop for loop in ranges if loop[0] <= op.address <= loop[1]] for op in code}
    times = {at: math.prod(trips[loop] for loop in its) for at, its in around.items()}
    stores = [op.address for op in code if op.access == "stores"]
    needed = [] if notes else [loop for loop in ranges if trips[loop]]
    straight = shortest(code, code[0].address, max(stores, default=code[-1].address), needed)
    short = {
        at
        for at, its in around.items()
        if (all(loop[0] in straight and at in ways[loop] for loop in its) if its else at in straight)
    }
    return _Weighted(times, short, notes)


def _trips(
    launch: CompiledLaunch, code: list[Instruction], ranges: list[LoopRange]
) -> tuple[dict[LoopRange, float], tuple[str, ...]]:
    """Returns how often each loop of the machine code goes round. One that is unrolled is seen by its products on the
    tensor cores, and without any by the bytes that it loads: threads that hold the same scales load them again.
    """
    source = source_loops(launch.ttir, launch.numbers, launch.grid)
    trips = [loop.trips for loop in source]
    if len(trips) != len(ranges) or None in trips:
        note = f"{len(ranges)} loops in the machine code, trips {trips} in the source: each is counted once"
        return dict.fromkeys(ranges, 1.0), (note,)
    result: dict[LoopRange, float] = {}
    for (first, last), loop in zip(ranges, source, strict=True):
        body = [op for op in code if first <= op.address <= last]
        counted, once = sum(map(_multiplied, body)), loop.multiplied
        if not counted or not once:
            counted, once = sum(op.bits / 8 for op in body if op.access == "loads"), loop.loaded
        at_once = round(counted * launch.warps * 32 / once) if once else 1
        result[first, last] = (loop.trips or 0) / max(at_once, 1)
    return result, ()


def _product(op: Instruction) -> float:
    """A thread's share of a product of the tensor cores, in operations of bfloat16; 0 of any other instruction."""
    return 2 * _multiplied(op) * (2.0 if "TF32" in op.operation else _TIME.get(op.name[0], 1.0))


def _multiplied(op: Instruction) -> float:
    """A thread's share of M x N x K of a product of the tensor cores; 0 of any other instruction."""
    match = _PRODUCT.match(op.operation)
    sizes = [int(size) for size in match.groups() if size] if match else [0]
    return math.prod(sizes) / (128 if "GMMA" in op.name else 32)


def _widths(code: list[Instruction], access: str) -> dict[str, int]:
    counts = Counter(op.bits for op in code if op.access == access)
    return {str(bits): counts[bits] for bits in sorted(counts, reverse=True)}


def _waits(code: list[Instruction]) -> list[str]:
    waits = sum(op.operation == "WARPGROUP.ARRIVE" for op in code)
    if 2 * waits <= sum(op.name.endswith("GMMA") for op in code):
        return []
    return ["each product of the tensor cores waits for the one before: ptxas (C75..) could not overlap them"]
