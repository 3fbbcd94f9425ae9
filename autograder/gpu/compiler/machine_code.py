"""Registers, spills and the width of memory accesses, read from the assembly of both backends and from what NVIDIA's
assembler prints.
"""

import re
from collections import Counter

Numbers = dict[str, int | dict[str, int] | None]  # of machine code: see the package's docstring
NUMBERS = (
    *("registers", "scalar_registers", "spills", "shared", "scratch"),
    *("loads", "stores", "load_bits", "store_bits", "reads"),
)


class UnreadableAssembly(Exception):
    """A compiler's output of an unknown form."""


# Global memory alone. ``cp.async``, which copies to shared memory, says how many bytes at its end.
_PTX = re.compile(r"^\s*(?:@!?%\w+\s+)?(ld|st)((?:[.:]+\w+)+)", re.M)
_PTX_COPY = re.compile(r"\bcp\.async\.c[ag]\.shared\.global[^;]*?,\s*(0x[0-9a-f]+|\d+)\s*[,;]")
_PTX_READ = re.compile(
    r"^\s*(?:@!?%\w+\s+)?(?:ldu?(?=\.)(?!\S*\.(?:param|shared|local|const)\b)|cp\.async\S*shared\S*\.global|atom\.)",
    re.M,
)
_AMD_READ = re.compile(r"^\s*(?:global|buffer|flat)_(?:load|atomic)", re.M)
_AMD = re.compile(r"^\s*(?:global|buffer|flat)_(load|store)_(?:lds_|format_)?(\w+)", re.M)
_COUNTS = ("vgpr_count", "sgpr_count", "vgpr_spill_count")
_AMD_BITS = {"byte": 8, "short": 16, "dwordx2": 64, "dwordx3": 96, "dwordx4": 128, "dword": 32}


def nvidia(ptx: str, ptxas: str) -> Numbers:
    """Returns the numbers of the code for NVIDIA's assembler, and of what ``ptxas -v`` says. Raises Unreadable."""
    registers = re.findall(r"Used (\d+) registers", ptxas)
    spilled = re.findall(r"(\d+) bytes spill stores", ptxas)
    if not registers or not spilled:
        raise UnreadableAssembly("this Triton is not known here: no registers or spills in what its assembler says")
    loads: Counter[int] = Counter(8 * int(size, 0) for size in _PTX_COPY.findall(ptx))
    stores: Counter[int] = Counter()
    for direction, words in _PTX.findall(ptx):
        bits = _ptx_bits(words)
        if bits:
            (stores if direction == "st" else loads)[bits] += 1
    # ptxas speaks last: what comes before may be a kernel's static_print.
    counts: Numbers = {"registers": int(registers[-1]), "scalar_registers": None, "spills": int(spilled[-1])}
    counts["reads"] = int(bool(_PTX_READ.search(ptx)))
    return {**counts, **_widths(loads, stores)}


def amd(assembly: str) -> Numbers:
    """Returns the numbers of the assembly that LLVM writes for AMD, by its metadata and its instructions. Raises
    Unreadable.
    """
    loads: Counter[int] = Counter()
    stores: Counter[int] = Counter()
    for direction, kind in _AMD.findall(assembly):
        bits = next((bits for name, bits in _AMD_BITS.items() if name in kind), None)
        if bits:
            (stores if direction == "store" else loads)[bits] += 1
    matches = (re.search(rf"^\s*\.{name}:\s+(\d+)", assembly, re.M) for name in _COUNTS)
    present = [match for match in matches if match]
    if len(present) < len(_COUNTS):
        raise UnreadableAssembly("this Triton is not known here: no register counts in its AMD assembly")
    vector, scalar, spilled = (int(match[1]) for match in present)
    counts: Numbers = {"registers": vector, "scalar_registers": scalar, "spills": 4 * spilled}
    return {**counts, "reads": int(bool(_AMD_READ.search(assembly))), **_widths(loads, stores)}


def _ptx_bits(words: str) -> int | None:
    """.global.v4.b32 -> 128; .global.L1::evict_last.u16 -> 16; None where it is not global memory."""
    if not re.search(r"\.global\b", words):
        return None
    vector, bits = re.search(r"\.v([248])\b", words), re.search(r"\.[busf](8|16|32|64|128)$", words)
    return (int(vector[1]) if vector else 1) * int(bits[1]) if bits else None


def _widths(loads: Counter[int], stores: Counter[int]) -> Numbers:
    return {
        "loads": {str(bits): loads[bits] for bits in sorted(loads, reverse=True)},
        "stores": {str(bits): stores[bits] for bits in sorted(stores, reverse=True)},
        "load_bits": _typical(loads),
        "store_bits": _typical(stores),
    }


def _typical(counts: Counter[int]) -> int | None:
    """The width that most bits travel in: a kernel that also reads one mean a row still loads 128 bits at a time."""
    return max(counts, key=lambda bits: (counts[bits] * bits, -bits), default=None)
