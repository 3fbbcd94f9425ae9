"""What our Triton kernels and other people's cost by their machine code, for sm_90, on a machine without a GPU.

    python benchmarks/machine_code.py                 the table, and the page benchmarks/machine_code.md
    python benchmarks/machine_code.py gelu attention  the rows with one of these words; writes nothing
    python benchmarks/machine_code.py --json          rows as data, one a line; writes nothing

Liger-Kernel is not a dependency: where it is not installed, its rows say "not run".
"""

import argparse
import dataclasses
import json
import os
import platform
import sys
from collections.abc import Iterator
from datetime import date
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ["TRITON_INTERPRET"] = "0"  # before triton: else nothing is compiled

import torch
import triton
from graded_kernels.autograder.gpu.compiler.sass.roofline import Kernel

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.sass import count
from benchmarks.sass.rows import LIGER, Row, all_rows

PAGE = Path(__file__).with_suffix(".md")
COLUMNS = (
    "operation, dtype, whose, kernel, instructions, all code, registers, spills, barriers, loads and stores, share"
)
HEAD = f"| {COLUMNS.replace(', ', ' | ')} |"
ABOUT = """# The machine code of our kernels

{machine}, PyTorch {torch}, Triton {triton}, {when}:
`python benchmarks/machine_code.py`. Each launch is compiled for sm_90 and read from NVIDIA's disassembler. Nothing is
run, and no GPU has timed these kernels.

- *Instructions*: of a thread, loops multiplied out, by the shortest way to the last store, times threads over elements
  (attention: over scores; a matrix product: over its result). *All code* counts what a GPU may never reach, too.
- *Spills*: loads and stores of local memory in the code, local arrays included. *Loads and stores*: how many of how
  many bits, those in a loop once.
- Matrices have 64 rows: the gradients of norms add up as many partial sums as their first pass has numbers. With more
  rows that second pass (`column_sums_kernel`) stops growing at 256 rows.
- *Share*: the most of the bandwidth of an H100 and an H200 (3.0 and 4.3 TB/s), or of their tensor cores (989 TFLOP/s
  of bfloat16, twice as many of int8), that bytes, instructions (132 SM x 4 x 32 at 1.755 GHz), special functions (an
  eighth of that) and products beyond the needed ones allow. A bound from above: latency, occupancy, the caches and bank
  conflicts are left out. Fewer instructions are no proof of speed.

{table}

## Goals that are not met, and why

What was tried, and what the machine code then said:

- *Attention forward, D 128, causal*: 14.2 instructions a score, for 13. Blocks of 128 keys take 11.8, with 255
  registers and 229,376 bytes of shared memory a program: an A100 has 166,912 of them, an MI300 65,536, and one launch
  serves all targets. Blocks of 32 keys take 19.9. The model's bound is the tensor cores either way.
- *Attention forward, D 64*: .87, and .77 causal. The exponential of a score alone allows .96 of the tensor cores there;
  8.8 and 10.0 instructions a score are what is left of it, and 7.7 would not be. Tried, full and causal: 128 queries
  by 128 keys in eight warps take 8.1 and 9.4, which allow .93 and .82 (182 registers, no spills); in four warps the
  same count, 28 and 47 spills, and products that wait for each other; 128 by 32 11.7 and 13.0; 64 by 64 10.7 and 11.6.
  The first is not taken: the course's sequences are mostly shorter than 128 keys, and all of a block is computed, on a
  GPU and in the emulator; a launch does not ask how many keys there are, since then a row's sums would go another
  way beside longer rows.
- *Layer norm forward, 8,192*: 23.8 instructions a number, and Liger-Kernel's 20.3; both allow all of the bandwidth.
- *The fused head's gradients*: a third of the tensor cores in bfloat16 and a fifth in float16, for .8. The gradient of
  the logits is float32, and goes through them in three pieces of bfloat16, cut by bits, which lose nothing: three
  products for one, and five for float16, whose 11 bits are two pieces. As products of float32 (FFMA, each a thread's
  own) they took 5,521 (dhidden) and 5,578 (dweight) instructions for each logit, which allow .04. One piece would take
  86 and 219, but then dhidden is off by 32 times the tolerance in bfloat16 and by 77 times in float16, where a share of
  a mean underflows; two pieces are off by 2^-16 of the sum of absolute products, three by no more than float32 is.
  Tiles of 128 x 128 take 428 to 783. dweight adds to what other rows gave, in float32: its 77 to 99 spills hold that
  sum behind the loop. The logits themselves take 80.
- *Expert weights*: loads of 64 bits at most, and 126 and 87 instructions a place. The logits of the chosen experts are
  gathered, one by one, and experts are int64, loaded one by one under the mask of k places. `first_kernel` is one
  program, which reads a number for each 64 tokens: the whole share of a card is not to be had.
- *Scaled products*: 371 and 243 instructions a number of the result, which allow .33 and .51 of the tensor cores' int8.
  Scaling alone takes 96: three for each of 32 groups. The tensor cores take int8 along K only, so that a b that is
  contiguous along N is turned byte by byte. Tiles of 128 x 128 in eight warps take 250 and 186, which allow .49 and
  .66, with 98,304 bytes of shared memory a program; in four warps they spill. The smaller tile stays, as one launch
  serves all targets.
- *Decaying sums*: no goal is missed by this count, but a program walks along time with 32 columns, in one warp: 4,096
  columns are 128 programs, for 132 multiprocessors, and how long a warp waits for its loads is not in the model.
- *Spills on gfx942*: `attention_dk_dv_kernel` spills 292 bytes in half precision (causal, D 32). Blocks of 32 queries
  in place of 64 spill nothing there, and take 14.6 and 15.2 instructions a score for 11.2 and 12.4 on sm_90 (D 64,
  full and causal). Blocks of 64 keys spill 704 bytes.
- *Masked softmax, 32,768*: 1.56 times the bytes in float32, since a row is read twice. Read once it is 32,768
  registers a program, half of what a multiprocessor has; whether the second reading comes from memory no GPU has
  said. As in the norms, the simpler kernel stays.
"""


def kernels_of(row: Row, dtype: torch.dtype) -> list[Kernel] | str:
    """The kernels, or a sentence why there are none."""
    if row.whose == LIGER and not find_spec("liger_kernel"):
        return "not run: pip install liger-kernel"
    module, _, name = row.function.replace(":", ".").rpartition(".")
    try:
        function = getattr(import_module(f"graded_kernels.kernels.{module}" if row.whose == "ours" else module), name)
        return count(function, *row.arguments(dtype), elements=row.elements, products=row.products)
    except Exception as error:  # whatever another project's kernel, or a size that is too large, ends in
        return f"not compiled: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def data(rows: list[Row]) -> Iterator[dict[str, Any]]:
    """A line of the table each, as it is made."""
    for row in rows:
        for dtype in row.dtypes:
            place = {"operation": row.operation, "dtype": str(dtype).removeprefix("torch."), "whose": row.whose}
            kernels = kernels_of(row, dtype)
            if isinstance(kernels, str):
                yield {**place, "says": kernels}
                continue
            for kernel in kernels:
                yield {**place, **dataclasses.asdict(kernel), "shares": kernel.shares}


def line(found: dict[str, Any]) -> str:
    place = f"| {found['operation']} | {found['dtype']} | {found['whose']} |"
    if "says" in found:
        return f"{place} {found['says']} |" + " |" * 7
    widths = ["".join(f"{n}x{bits} " for bits, n in found[access].items()).strip() for access in ("loads", "stores")]
    shares = ", ".join(f"{share:.2f}" for share in found["shares"].values())
    name = found["name"] + "".join(f" ({note})" for note in found["notes"])
    numbers = f"{found['instructions']:.1f} | {found['at_most']:.1f} | {found['registers']} | {found['spills']}"
    return f"{place} {name} | {numbers} | {found['barriers']} | {'; '.join(widths)} | {shares} |"


def machine() -> str:
    return f"{os.cpu_count()} cores of {platform.processor() or platform.machine()}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the machine code of Triton kernels without a GPU.")
    parser.add_argument("words", nargs="*", help="rows whose operation has one of these words (all of them)")
    parser.add_argument("--json", action="store_true", help="rows as data")
    options = parser.parse_args()
    rows = [row for row in all_rows() if not options.words or any(word in row.operation for word in options.words)]
    table = [HEAD, "|---" * HEAD.count(" | ") + "|---|"]
    if not options.json:
        print(*table, sep="\n")
    for found in data(rows):
        table.append(line(found))
        print(json.dumps(found) if options.json else table[-1], flush=True)
    if not options.words and not options.json:
        values = {"machine": machine(), "torch": torch.__version__, "triton": triton.__version__}
        when = f"{date.today():%B %Y}"
        PAGE.write_text(ABOUT.format(**values, when=when, table="\n".join(table)), encoding="utf-8")


if __name__ == "__main__":
    main()
