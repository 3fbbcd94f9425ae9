"""Registers, spills and the width of memory accesses, read from what the compilers print and from their machine code.

NVIDIA's disassembler takes two to four times as long as the compilation whose code it prints. `instructions` reads the
widths from the code itself, of GPUs and encodings that were compared with the disassembler's (`tests/sass_widths.py`);
for any other it returns None, and the disassembler is asked.
"""

import re
import struct
from collections import Counter


class Unreadable(Exception):
    """A compiler's output that is not what we know."""


_LDG, _STG, _LDGSTS = 0x981, 0x986, 0xFAE  # the lowest 12 bits of an instruction of 128
_BITS = {0: 8, 1: 8, 2: 16, 3: 16, 4: 32, 5: 64, 6: 128}  # bits 73 to 75 of LDG and STG
_COPY_BITS = {  # LDGSTS: the same three bits
    80: {4: 32, 5: 64, 6: 128},
    90: {4: 32, 5: 64, 6: 128},
    100: {0: 32, 2: 64, 4: 128},
}
_NEVER_SEEN = 0
_SECTION = struct.Struct("<IIQQQQ")  # of a 64-bit ELF file: name, type, flags, address, offset, size
_EXECUTABLE = 4

_SASS = re.compile(r"\b(LDG|LDGSTS|STG)((?:\.\w+)*)\s")  # global memory; LDS and LDL are shared and local
_AMD = re.compile(r"^\s*(?:global|buffer|flat)_(load|store)_(?:lds_|format_)?(\w+)", re.M)
_COUNTS = ("vgpr_count", "sgpr_count", "vgpr_spill_count")
_AMD_BITS = {"byte": 8, "short": 16, "dwordx2": 64, "dwordx3": 96, "dwordx4": 128, "dword": 32}


Accesses = tuple[Counter[int], Counter[int]]  # loads and stores of global memory: how many of each width in bits


def instructions(cubin: bytes, arch: int) -> Accesses | None:
    """From the machine code for ``sm_<arch>``; None where it holds what was never compared with the disassembler, or is
    no file of the form that is known here.
    """
    if arch not in _COPY_BITS:
        return None
    try:
        return _accesses(cubin, _COPY_BITS[arch])
    except struct.error:
        return None


def _accesses(cubin: bytes, copies: dict[int, int]) -> Accesses | None:
    loads: Counter[int] = Counter()
    stores: Counter[int] = Counter()
    sections = _executable(cubin)
    for section in sections:
        for low, high in struct.iter_unpack("<QQ", section):
            opcode, width = low & 0xFFF, high >> 9 & 7
            if opcode == _LDG:
                loads[_BITS.get(width, _NEVER_SEEN)] += 1
            elif opcode == _STG:
                stores[_BITS.get(width, _NEVER_SEEN)] += 1
            elif opcode == _LDGSTS:
                loads[copies.get(width, _NEVER_SEEN)] += 1
    return (loads, stores) if sections and _NEVER_SEEN not in loads | stores else None


def _executable(elf: bytes) -> list[bytes]:
    """The sections of an ELF file that hold instructions."""
    (start,) = struct.unpack_from("<Q", elf, 0x28)
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    headers = [_SECTION.unpack_from(elf, start + number * size) for number in range(count)]
    return [elf[offset : offset + length] for _, _, flags, _, offset, length in headers if flags & _EXECUTABLE]


def disassembled(sass: str) -> Accesses:
    """From what ``cuobjdump -sass`` prints."""
    if not sass.strip():
        raise Unreadable("this Triton is not known here: its disassembler prints no instructions")
    loads: Counter[int] = Counter()
    stores: Counter[int] = Counter()
    for opcode, suffix in _SASS.findall(sass):
        (stores if opcode == "STG" else loads)[_sass_bits(suffix.split("."))] += 1
    return loads, stores


def nvidia(accesses: Accesses, ptxas: str) -> dict:
    """From the accesses, and from what ``ptxas -v`` says."""
    registers = re.findall(r"Used (\d+) registers", ptxas)
    spilled = re.findall(r"(\d+) bytes spill stores", ptxas)
    if not registers or not spilled:
        raise Unreadable("this Triton is not known here: no registers or spills in what its assembler says")
    # ptxas speaks last: what comes before may be a kernel's static_print.
    counts = {"registers": int(registers[-1]), "scalar_registers": None, "spills": int(spilled[-1])}
    return {**counts, **_widths(*accesses)}


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
