"""Widths of memory accesses in machine code, against what NVIDIA's disassembler says of the same code.

python tests/sass_widths.py     exit status 1 where the two differ
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from graded_kernels.autograder.compiler import machine_code

os.environ.pop("TRITON_INTERPRET", None)  # the import above asks for it; here kernels are compiled

import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton import knobs  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr, KEEP: tl.constexpr, CACHE: tl.constexpr, STEP: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets * STEP, mask=offsets < n, eviction_policy=KEEP, cache_modifier=CACHE)
    tl.store(y_ptr + offsets * STEP, x, mask=offsets < n, eviction_policy=KEEP)


@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, SIDE: tl.constexpr, STEP: tl.constexpr):
    """Pipelined, it copies from global to shared memory with LDGSTS."""
    rows, k = tl.arange(0, SIDE), tl.arange(0, STEP)
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for start in range(0, K, STEP):
        a = tl.load(a_ptr + rows[:, None] * K + start + k[None, :])
        b = tl.load(b_ptr + (start + k[:, None]) * SIDE + rows[None, :])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * SIDE + rows[None, :], total)


ARCHITECTURES = (80, 90, 100)
DTYPES = ("i1", "i8", "u8", "i16", "fp16", "bf16", "i32", "fp32", "i64", "fp64")
OPTIONS = (  # eviction policy, cache modifier, step, whether arguments are divisible by 16, warps
    ("", "", 1, True, 4),
    ("evict_first", "", 1, True, 1),
    ("", ".cg", 1, True, 4),
    ("", ".ca", 1, False, 4),
    ("evict_last", "", 3, True, 4),
    ("", ".cv", 1, True, 8),
    ("", "", 2, True, 2),
)


def sources() -> Iterator[tuple[str, ASTSource, dict]]:
    for dtype in DTYPES:
        for keep, cache, step, aligned, warps in OPTIONS if dtype == "fp16" else OPTIONS[:1]:
            signature = {"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}", "n": "i32"}
            constants = {"BLOCK": 2048, "KEEP": keep, "CACHE": cache, "STEP": step}
            name = f"copy {dtype} {keep} {cache} {step} {aligned} {warps}"
            yield name, source(copy, signature, constants, aligned), {"num_warps": warps}
    for dtype, stages in (("fp16", 3), ("fp16", 1), ("fp32", 3)):
        signature = {"a_ptr": f"*{dtype}", "b_ptr": f"*{dtype}", "c_ptr": "*fp32", "K": "i32"}
        constants = {"SIDE": 64, "STEP": 32}
        yield f"product {dtype} {stages}", source(product, signature, constants, True), {"num_stages": stages}


def source(kernel, signature: dict, constants: dict, aligned: bool) -> ASTSource:
    notes = {(i,): [["tt.divisibility", 16]] for i in range(len(signature))} if aligned else {}
    return ASTSource(kernel, signature | dict.fromkeys(constants, "constexpr"), constants, notes)


def disassembled(cubin: bytes) -> machine_code.Accesses:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [knobs.nvidia.cuobjdump.path, "-sass", file.name]
        return machine_code.disassembled(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> int:
    compared = differ = 0
    for name, kernel, options in sources():
        for arch in ARCHITECTURES:
            cubin = triton.compile(kernel, target=GPUTarget("cuda", arch, 32), options=options).asm["cubin"]
            found, expected = machine_code.instructions(cubin, arch), disassembled(cubin)
            compared += sum(count.total() for count in expected)
            if found != expected:
                differ += 1
                print(f"sm_{arch}, {name}: {found} in the code, {expected} in the disassembly")
    print(f"{compared} accesses compared, {differ} kernels differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
