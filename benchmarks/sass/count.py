"""Instructions an element, and the share of a card's bandwidth or tensor cores that they allow at most."""

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from graded_kernels.autograder.gpu import Target

from .launches import Launch, compiled
from .listing import Instruction, Loop, disassemble, loops, shortest
from .trips import source_loops

(TARGET,) = Target.named("sm_90")
SMS, CLOCK = 132, 1.755e9
ISSUE = SMS * 4 * 32 * CLOCK  # thread instructions a second: each quarter of an SM issues one warp's a cycle
MUFU = ISSUE / 8  # exp2, log2, reciprocal, root: 4 lanes a cycle in each quarter
TENSOR = 989e12  # operations a second of bfloat16 products
CARDS = {"H100": 3.0e12, "H200": 4.3e12}  # bytes a second that a copy reaches


@dataclass(frozen=True)
class Kernel:
    """instructions, mufu, bytes: an element, by the shortest way to the last store through the source's loops; at_most:
    all of the code. loads, stores: how many of each width in bits, each counted once. traffic: bytes that loads and
    stores ask for, over those of the tensors: 1 where each is touched once. notes: what makes the count unsure.
    """

    name: str
    instructions: float
    at_most: float
    mufu: float
    products: float
    bytes: float
    traffic: float
    registers: int
    spills: int
    barriers: int
    shared: int
    loads: dict[int, int]
    stores: dict[int, int]
    notes: tuple[str, ...]

    def share(self, card: str) -> float:
        """The most of the card's bandwidth, or of its tensor cores where those take longer, that it can reach."""
        least = max(self.bytes / CARDS[card], self.products / TENSOR)
        return least / max(least, self.instructions / ISSUE, self.mufu / MUFU)


def count(function: Callable[..., Any], *args: Any, elements: int = 0, products: int = 0, **named: Any) -> list[Kernel]:
    """A `Kernel` for each launch. elements: how many there are; 0: those of its largest tensor. products: operations
    that have to be done; 0: those that its tensor cores do, needed or not.
    """
    return [_judged(launch, elements, products) for launch in compiled(function, args, named, TARGET)]


@dataclass(frozen=True)
class _Weighted:
    """How often each instruction is carried out by a thread, and which are on the shortest way."""

    times: dict[int, float]
    short: set[int]
    notes: tuple[str, ...]


def _judged(launch: Launch, elements: int, products: int) -> Kernel:
    code, registers = disassemble(launch.cubin)
    weighted = _weighted(launch, code)
    tensors = list({one.data_ptr(): one for one in launch.bound.values() if torch.is_tensor(one)}.values())
    floor = sum(one.numel() * one.element_size() for one in tensors)
    elements = elements or max((one.numel() for one in tensors), default=1)
    threads = launch.warps * 32 * math.prod(launch.grid) / elements
    times, names = weighted.times, Counter(one.name for one in code)
    of_way = [one for one in code if one.address in weighted.short]
    return Kernel(
        name=launch.kernel,
        instructions=threads * sum(times[one.address] for one in of_way),
        at_most=threads * sum(times.values()),
        mufu=threads * sum(times[one.address] for one in of_way if one.name == "MUFU"),
        products=products / elements if products else threads * _products(code, times),
        bytes=floor / elements,
        traffic=threads * elements / floor * sum(one.bits / 8 * times[one.address] for one in code if one.access),
        registers=registers,
        spills=names["LDL"] + names["STL"],
        barriers=names["BAR"],
        shared=launch.shared,
        loads=_widths(code, "loads"),
        stores=_widths(code, "stores"),
        notes=(*weighted.notes, *_traps(code, launch)),
    )


def _weighted(launch: Launch, code: list[Instruction]) -> _Weighted:
    found = loops(code)
    trips, notes = _trips(launch, code, found)
    ways = {loop: shortest(code, *loop) for loop in found}
    around = {one.address: [loop for loop in found if loop[0] <= one.address <= loop[1]] for one in code}
    times = {at: math.prod(trips[loop] for loop in its) for at, its in around.items()}
    stores = [one.address for one in code if one.access == "stores"]
    needed = [] if notes else [loop for loop in found if trips[loop]]
    straight = shortest(code, code[0].address, max(stores, default=code[-1].address), needed)
    short = {
        at
        for at, its in around.items()
        if (all(loop[0] in straight and at in ways[loop] for loop in its) if its else at in straight)
    }
    return _Weighted(times, short, notes)


def _trips(launch: Launch, code: list[Instruction], found: list[Loop]) -> tuple[dict[Loop, float], tuple[str, ...]]:
    """How often each loop of the machine code goes round. One that is unrolled is seen by the bytes that it loads."""
    source = source_loops(launch.ttir, launch.bound, launch.grid)
    trips = [loop.trips for loop in source]
    if len(trips) != len(found) or None in trips:
        note = f"{len(found)} loops in the machine code, trips {trips} in the source: each is counted once"
        return dict.fromkeys(found, 1.0), (note,)
    result: dict[Loop, float] = {}
    for (first, last), loop in zip(found, source, strict=True):
        bits = sum(one.bits for one in code if one.access == "loads" and first <= one.address <= last)
        at_once = round(bits / 8 * launch.warps * 32 / loop.loaded) if loop.loaded else 1
        result[first, last] = (loop.trips or 0) / max(at_once, 1)
    return result, ()


def _products(code: list[Instruction], times: dict[int, float]) -> float:
    """Operations of the tensor cores, a thread: an instruction is that of four warps together."""
    shapes = ((times[one.address], re.match(r"HGMMA\.(\d+)x(\d+)x(\d+)", one.operation)) for one in code)
    return sum(often * math.prod(map(int, shape.groups())) for often, shape in shapes if shape) / 64


def _widths(code: list[Instruction], access: str) -> dict[int, int]:
    return dict(sorted(Counter(one.bits for one in code if one.access == access).items(), reverse=True))


def _traps(code: list[Instruction], launch: Launch) -> list[str]:
    found = []
    waits = sum(one.operation == "WARPGROUP.ARRIVE" for one in code)
    if 2 * waits > sum(one.name == "HGMMA" for one in code):
        found.append("each product of the tensor cores waits for the one before: ptxas (C75..) could not overlap them")
    if launch.shared > TARGET.shared:
        found.append(f"{launch.shared:,} bytes of shared memory a program; {TARGET.device} have {TARGET.shared:,}")
    return found
