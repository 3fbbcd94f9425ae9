"""Three interpreters on the same kernels, in one run: Triton's own, the strict emulator, and triton-viz's sanitizer.

    python benchmarks/emulator.py             time, as ratios to Triton's interpreter, then planted bugs by tool
    python benchmarks/emulator.py --time      the first table only
    python benchmarks/emulator.py --bugs      the second table only
    python benchmarks/emulator.py --atomics   kernels that use what atomics return, one program at a time and together
    python benchmarks/emulator.py --sizes     one launch, alone and under `sanitize`, from 2^16 to 2^28 elements

triton-viz is not a dependency: where it is not installed, its columns say "not run". Its sanitizer reasons about
addresses with a solver and does not compute values.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "material"))

import meeting
import planted
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu import Emulator
from graded_kernels.autograder.gpu.sanitize.watching import watched

REPEAT = 7
SIZES = tuple(2**power for power in range(16, 29))


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, x / (1 + tl.exp(-x)), mask=mask)


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    at = tl.program_id(0) * n + columns
    x = tl.load(x_ptr + at, mask=columns < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + at, e / tl.sum(e, axis=0), mask=columns < n)


@triton.jit
def variance_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.0)
    mean = tl.sum(total) / n
    square = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.0)
        square += tl.where(columns < n, (x - mean) * (x - mean), 0.0)
    tl.store(y_ptr + row, tl.sum(square) / n)


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, N: tl.constexpr, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for start in range(0, N, B):
        k = start + tl.arange(0, B)
        a = tl.load(a_ptr + m[:, None] * N + k[None, :])
        acc += tl.dot(a, tl.load(b_ptr + k[:, None] * N + n[None, :]), input_precision="ieee")
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@triton.jit
def row_norm_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + columns, mask=columns < n)
    x = tl.where(columns < n, x, 0.0)
    tl.store(y_ptr + row * n + columns, x * tl.rsqrt(tl.sum(x * x) / n + 1e-6), mask=columns < n)


@triton.jit
def tail_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = n - BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at) + 1)


def silu(kernel):
    x, y = torch.randn(65536), torch.zeros(65536)
    return lambda: kernel[(64,)](x, y, 65536, BLOCK=1024)


def softmax(kernel):
    x, y = torch.randn(64, 1000), torch.zeros(64, 1000)
    return lambda: kernel[(64,)](x, y, 1000, BLOCK=1024)


def variance(kernel):
    x, y = torch.randn(32, 1000), torch.zeros(32)
    return lambda: kernel[(32,)](x, y, 1000, BLOCK=256)


def matmul(kernel):
    a, b, c = torch.randn(128, 128), torch.randn(128, 128), torch.zeros(128, 128)
    return lambda: kernel[(4, 4)](a, b, c, N=128, B=32)


KERNELS = {
    "silu, 65,536 elements, block 1024": (silu_kernel, silu),
    "softmax, 64 rows of 1,000": (softmax_kernel, softmax),
    "variance, 32 rows of 1,000, block 256": (variance_kernel, variance),
    "matmul, 128 x 128 x 128, block 32": (matmul_kernel, matmul),
}


def split_k(kernel):
    a, b, count = torch.randn(512, 256), torch.randn(256, 16), meeting.zeros(32)
    part, c = torch.zeros(128, 256), torch.zeros(512, 16)
    return lambda: kernel[(32, 4)](a, b, part, c, count, 256, HOW="", SPLITS=4, B=16)


def queue(kernel):
    x, y, taken = torch.randn(512, 256), torch.zeros(512, 256), meeting.zeros(1)
    return lambda: (taken.zero_(), kernel[(64,)](x, y, taken, 512, BLOCK=256))


def locks(groups):
    def make(kernel):
        x, dy, lock = torch.randn(256, 1000), torch.randn(256, 1000), meeting.zeros(2 * groups)
        dw, db = torch.zeros(groups, 1000), torch.zeros(groups, 1000)
        return lambda: (lock.zero_(), kernel[(256,)](x, dy, dw, db, lock, 1000, GROUPS=groups, BLOCK=1024))

    return make


MEETING = {
    "tickets: split-k, 32 tiles of 16 x 16, 4 parts each": (meeting.split_k, split_k),
    "a queue: 512 tiles of 256, 64 programs": (meeting.queue, queue),
    "16 locks: layer norm backward, 256 rows of 1,000": (meeting.layer_norm_backward, locks(16)),
    "1 lock: the same": (meeting.layer_norm_backward, locks(1)),
}


def sanitizer():
    """triton-viz's decorator for a kernel, or None where it is not installed."""
    try:
        import triton_viz
        from triton_viz.clients import Sanitizer
    except ImportError:
        return None
    return lambda kernel: triton_viz.trace(client=Sanitizer(abort_on_error=True))(kernel)


def seconds(run) -> float:
    start = time.process_time()  # not the clock: other processes may be busy
    run()
    return time.process_time() - start


def fastest(run) -> float:
    run()  # imports, caches and rewriting do not count
    return min(seconds(run) for _ in range(REPEAT))


def time_table() -> None:
    print(f"| kernel | Triton {triton.__version__}'s interpreter | emulator | triton-viz sanitizer |")
    print("|---|---|---|---|")
    rows = {}
    for name, (kernel, make) in KERNELS.items():
        plain = fastest(make(kernel))
        with Emulator():
            ours = fastest(make(kernel))
        rows[name] = plain, ours
    trace = sanitizer()
    for name, (kernel, make) in KERNELS.items():  # last: triton-viz changes the interpreter for good
        plain, ours = rows[name]
        theirs = f"{fastest(make(trace(kernel))) / plain:.3f}" if trace else "not run"
        print(f"| {name} | 1 ({1000 * plain:.1f} ms) | {ours / plain:.4f} | {theirs} |")


def atomics_table() -> None:
    """By turns: the interpreter, one program at a time, together, and again."""
    print("| kernel | interpreter, ms | one program at a time | together |\n|---|---|---|---|")
    for name, (kernel, make) in MEETING.items():
        run = make(kernel)
        times = {"plain": [], "alone": [], "together": []}
        for turn in range(5):
            for way, spent in times.items():
                if way == "plain":
                    took = seconds(run)
                else:
                    with Emulator() as emulator:
                        emulator.together = way == "together"
                        took = seconds(run)
                    assert not emulator.fallbacks, emulator.fallbacks
                if turn:  # imports, caches and rewriting do not count
                    spent.append(took)
        plain, alone, together = map(min, times.values())
        print(f"| {name} | {1000 * plain:.0f} | {alone / plain:.3f} | {together / plain:.3f} |", flush=True)


def sanitized(name: str) -> str:
    """What triton-viz's sanitizer says about one planted bug. It leaves the process when it finds something."""
    trace, jit = sanitizer(), triton.jit
    triton.jit = lambda function: trace(jit(function))  # for good: this process ends
    try:
        planted.named(name).run()
    except SystemExit:
        return "out-of-bounds"
    except Exception as error:
        return f"raises {type(error).__name__}"
    return "nothing"


def in_a_process(name: str) -> str:
    """`sanitized` in a process of its own: the last line it prints."""
    if sanitizer() is None:
        return "not run"
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    code = f"import json, emulator; print(); print(json.dumps(emulator.sanitized({name!r})))"
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    return json.loads(child.stdout.splitlines()[-1]) if child.returncode == 0 else f"dies ({child.returncode})"


def size_table() -> None:
    """Each row in a process of its own, for its memory."""
    print("| elements | row norm, s | s for 2^20 | last 1,024 elements, s | row norm under `sanitize`, s | peak, GiB |")
    print("|---|---|---|---|---|---|")
    for size in SIZES:
        code = f"import emulator; print(emulator.size_row({size}))"
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        environment = {**os.environ, "PYTHONPATH": path}
        child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        print(child.stdout.splitlines()[-1] if child.returncode == 0 else child.stderr, flush=True)


def size_row(size: int) -> str:
    """Rows of 1,000, of which every program has masked-off lanes."""
    rows = size // 1000
    x, y = torch.rand(rows, 1000), torch.zeros(rows, 1000)

    def norm():
        row_norm_kernel[(rows,)](x, y, 1000, BLOCK=1024)

    with Emulator():
        row_norm_kernel[(1,)](x[:1], y[:1], 1000, BLOCK=1024)
        alone = min(seconds(norm) for _ in range(3 if size < 2**24 else 1))
        tail_kernel[(1,)](x, y, size // 2, BLOCK=1024)
        tail = min(seconds(lambda: tail_kernel[(1,)](x, y, rows * 1000, BLOCK=1024)) for _ in range(3))
    with watched(lambda event: None, shim=False):
        row_norm_kernel[(1,)](x[:1], y[:1], 1000, BLOCK=1024)
        judged = seconds(norm)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    each = alone / size * 2**20
    return f"| 2^{size.bit_length() - 1} | {alone:.3f} | {each:.4f} | {tail:.4f} | {judged:.3f} | {peak:.1f} |"


def bug_table() -> None:
    print("| planted bug | Triton's interpreter | emulator | triton-viz sanitizer |")
    print("|---|---|---|---|")
    for bug in planted.bugs():
        verdict = planted.emulate(bug)
        found = {"wrong-value": "wrong value", "order": "depends on the order"}.get(bug.kind, bug.kind)
        ours = found if planted.seen(bug, verdict) else "MISSED"
        print(f"| {bug.name.replace('_', ' ')} | {planted.plain(bug)} | {ours} | {in_a_process(bug.name)} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", action="store_true", help="the times only")
    parser.add_argument("--bugs", action="store_true", help="the planted bugs only")
    parser.add_argument("--atomics", action="store_true", help="the table of atomics only")
    parser.add_argument("--sizes", action="store_true", help="the table by size only")
    wanted = parser.parse_args()
    if wanted.sizes or wanted.atomics:
        (size_table if wanted.sizes else atomics_table)()
        sys.exit()
    if not wanted.bugs:
        time_table()
    if not wanted.time:
        bug_table()
