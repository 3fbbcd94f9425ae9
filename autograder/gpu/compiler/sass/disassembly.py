"""The machine code of a kernel as NVIDIA's disassembler lists it: instructions, branches, loops, the shortest way."""

import math
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(@!?U?P[\dT]+\s+)?([A-Z][A-Zx0-9_.]*)(.*?);", re.MULTILINE)
ENDS = ("EXIT", "RET", "BRA")
MEMORY = {"LDG": "loads", "LDGSTS": "loads", "STG": "stores"}

LoopRange = tuple[int, int]  # the addresses of its first and its last instruction


class MissingTool(Exception):
    """There is no disassembler. Its text says where one is looked for."""


@dataclass(frozen=True)
class Instruction:
    """operation: with its modifiers, ``LDG.E.128``. falls: whether the next instruction may follow it."""

    address: int
    operation: str
    operands: str
    falls: bool

    @property
    def name(self) -> str:
        """Without modifiers."""
        return self.operation.partition(".")[0]

    @property
    def access(self) -> str:
        """ "loads" or "stores" of global memory, or ""."""
        return MEMORY.get(self.name, "")

    @property
    def bits(self) -> int:
        """Returns how wide an access is."""
        return next((bits for bits in (128, 64, 16, 8) if re.search(rf"\.[US]?{bits}\b", self.operation)), 32)


def disassembler() -> str:
    """The path of cuobjdump. It calls nvdisasm, which it finds in its own folder or on PATH."""
    import triton.backends.nvidia

    shipped = Path(triton.backends.nvidia.__file__).parent / "bin" / "cuobjdump"
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "cuobjdump"
    for path in (os.environ.get("TRITON_CUOBJDUMP_PATH"), shipped, toolkit, shutil.which("cuobjdump")):
        if path and os.access(path, os.X_OK):
            return str(path)
    raise MissingTool("no cuobjdump: Triton for Linux and the CUDA toolkit have it; TRITON_CUOBJDUMP_PATH may name it")


def disassemble(cubin: bytes) -> tuple[list[Instruction], int]:
    """The instructions of a compiled kernel, and how many registers a thread of it has."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        shown, usage = (
            subprocess.run([disassembler(), how, file.name], capture_output=True, text=True)
            for how in ("-sass", "-res-usage")
        )
    code = [_instruction(*fields) for fields in LINE.findall(shown.stdout) if fields[2] != "NOP"]
    registers = re.search(r"REG:(\d+)", usage.stdout + usage.stderr)
    if not code or not registers:
        raise MissingTool(f"cuobjdump showed no code: is nvdisasm beside it? {shown.stderr.strip()}")
    return code, int(registers[1])


def _instruction(address: str, predicate: str, operation: str, operands: str) -> Instruction:
    conditional = bool(predicate) or bool(re.search(r"P\d,", operands))
    return Instruction(int(address, 16), operation, operands, conditional or not operation.startswith(ENDS))


def branches(code: list[Instruction]) -> dict[int, int]:
    """Where each branch goes: to the first instruction at or after the address that it names."""
    named = ((op.address, re.search(r"0x([0-9a-f]+)", op.operands)) for op in code if op.name == "BRA")
    targets = {address: int(target[1], 16) for address, target in named if target}
    return {at: next(op.address for op in code if op.address >= to) for at, to in targets.items()}


def loops(code: list[Instruction]) -> list[LoopRange]:
    """From the target of a branch backwards to that branch, in the order of the code. Those that overlap are one."""
    merged: list[LoopRange] = []
    for first, last in sorted((target, at) for at, target in branches(code).items() if target < at):
        around = [loop for loop in merged if loop[0] <= first <= loop[1] and (last > loop[1] or first == loop[0])]
        if around:
            merged.remove(around[0])
            first, last = around[0][0], max(around[0][1], last)
        merged.append((first, last))
    return sorted(merged)


def shortest(code: list[Instruction], first: int, last: int, through: Iterable[LoopRange] = ()) -> set[int]:
    """Addresses of the shortest way from ``first`` to ``last`` by branches forward, none of them over a loop of
    ``through``; all addresses between where there is no way.
    """
    inside, jumps, through = [op for op in code if first <= op.address <= last], branches(code), list(through)
    steps, came_from = {first: 0}, {}
    for op, after in zip(inside, [*inside[1:], None], strict=True):
        if op.address not in steps:
            continue
        for to in (jumps.get(op.address), after.address if after and op.falls else None):
            over = to is not None and any(op.address < start and end < to for start, end in through)
            if to is not None and to > op.address and not over and steps[op.address] + 1 < steps.get(to, math.inf):
                steps[to], came_from[to] = steps[op.address] + 1, op.address
    if last not in steps:
        return {op.address for op in inside}
    way = [last]
    while way[-1] in came_from:
        way.append(came_from[way[-1]])
    return set(way)
