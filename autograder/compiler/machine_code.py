"""Registers, spills and the width of memory accesses, read from what the compilers print."""

import re
from collections import Counter


class Unreadable(Exception):
    """A compiler's output that is not what we know."""


_SASS = re.compile(r"\b(LDG|LDGSTS|STG)((?:\.\w+)*)\s")  # global memory; LDS and LDL are shared and local
_AMD = re.compile(r"^\s*(?:global|buffer|flat)_(load|store)_(?:lds_|format_)?(\w+)", re.M)
_COUNTS = ("vgpr_count", "sgpr_count", "vgpr_spill_count")
_AMD_BITS = {"byte": 8, "short": 16, "dwordx2": 64, "dwordx3": 96, "dwordx4": 128, "dword": 32}


def nvidia(sass: str, ptxas: str) -> dict:
    """From ``cuobjdump -sass`` and from what ``ptxas -v`` says."""
    loads: Counter[int] = Counter()
    stores: Counter[int] = Counter()
    for opcode, suffix in _SASS.findall(sass):
        (stores if opcode == "STG" else loads)[_sass_bits(suffix.split("."))] += 1
    registers = re.findall(r"Used (\d+) registers", ptxas)
    spilled = re.findall(r"(\d+) bytes spill stores", ptxas)
    if not registers or not spilled or not sass.strip():
        raise Unreadable("this Triton is not known here: no registers, spills or instructions in what its tools say")
    # ptxas speaks last: what comes before may be a kernel's static_print.
    counts = {"registers": int(registers[-1]), "scalar_registers": None, "spills": int(spilled[-1])}
    return {**counts, **_widths(loads, stores)}


def amd(assembly: str) -> dict:
    """From the assembly LLVM writes for AMD: its metadata and its instructions."""
    loads: Counter[int] = Counter()
    stores: Counter[int] = Counter()
    for direction, kind in _AMD.findall(assembly):
        bits = next((bits for name, bits in _AMD_BITS.items() if name in kind), None)
        if bits:
            (stores if direction == "store" else loads)[bits] += 1
    found = (re.search(rf"^\s*\.{name}:\s+(\d+)", assembly, re.M) for name in _COUNTS)
    counts = [match for match in found if match]
    if len(counts) < len(_COUNTS):
        raise Unreadable("this Triton is not known here: no register counts in its AMD assembly")
    vector, scalar, spilled = (int(match[1]) for match in counts)
    return {"registers": vector, "scalar_registers": scalar, "spills": 4 * spilled, **_widths(loads, stores)}


def _sass_bits(suffix: list[str]) -> int:
    """.E.128 -> 128; .E.U16 -> 16; .E -> 32"""
    for bits, names in ((256, ("256",)), (128, ("128",)), (64, ("64",)), (16, ("U16", "S16")), (8, ("U8", "S8"))):
        if any(name in suffix for name in names):
            return bits
    return 32


def _widths(loads: Counter, stores: Counter) -> dict:
    return {
        "loads": {str(bits): loads[bits] for bits in sorted(loads, reverse=True)},
        "stores": {str(bits): stores[bits] for bits in sorted(stores, reverse=True)},
        "load_bits": _typical(loads),
        "store_bits": _typical(stores),
    }


def _typical(counts: Counter) -> int | None:
    """The width that most bits travel in: a kernel that also reads one mean a row still loads 128 bits at a time."""
    return max(counts, key=lambda bits: (counts[bits] * bits, -bits), default=None)
