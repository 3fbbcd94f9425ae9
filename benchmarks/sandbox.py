"""What isolation costs, as ratios to a fresh Python with PyTorch and Triton in the same run.

    python benchmarks/sandbox.py [--level strong|good|weak]     the best level of this machine by default

Each line is the median of several runs, taken in turns so that a busy machine slows all of them alike. An isolated
answer in PyTorch is called three times, on other numbers and twice on those in question, so here it is in this process,
too. "isolation" is the difference, for an empty function.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from graded_kernels.autograder.gpu.interpret import choose_interpreter
from graded_kernels.autograder.judge.records.table import EXERCISES
from graded_kernels.autograder.runner.call.answer import Answer, Cell, load
from graded_kernels.autograder.runner.call.examination import Call
from graded_kernels.autograder.runner.call.runner import InProcess
from graded_kernels.autograder.runner.sandbox import Isolated, Worker, probe

ROUNDS, FRESH_ROUNDS = 15, 3
SILU = EXERCISES["silu_forward"]
EMPTY = "def silu_forward(x):\n    return x.clone()\n"
KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, x * tl.sigmoid(x), mask=mask)


def silu_forward(x):
    y = torch.empty_like(x)
    silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
"""


def seconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def fresh() -> None:
    """What a check would cost without a worker: a new interpreter, and its imports."""
    subprocess.run([sys.executable, "-c", "import torch, triton, triton.language"], check=True)


def start(level: str) -> None:
    with Worker(level) as worker, isolated(EMPTY, "torch", worker) as runner:
        runner.examine(Call((torch.ones(1),)))


def isolated(source: str, backend: str, worker: Worker) -> Isolated:
    return Isolated(Answer("silu_forward", (Cell("cell", source),)), SILU.contract, backend, worker=worker)


def in_process(source: str, backend: str, args: tuple) -> None:
    runner = InProcess(load(Answer("silu_forward", (Cell("cell", source),))), SILU.contract, backend)
    for _ in range(3 if backend == "torch" else 1):
        outcome = runner.examine(Call(args)).first
        assert outcome.trouble is None, outcome.trouble


def call(runner: Isolated, args: tuple) -> None:
    layouts = tuple((a.dtype, a.shape) for a in args)
    outcome = runner.examine(Call(tuple(args), layouts)).first
    assert outcome.trouble is None, outcome.trouble


def replay(runner: Isolated, args: tuple) -> None:
    outcome = runner.examine(Call(args)).alone()
    assert outcome.trouble is None, outcome.trouble


def measure(level: str) -> dict[str, float]:
    """Medians in seconds, by what was done."""
    one, thousand, many = (torch.ones(1),), (torch.randn(1000),), (torch.randn(1 << 20),)
    with Worker(level) as worker:
        empty, kernel = isolated(EMPTY, "torch", worker), isolated(KERNEL, "triton", worker)
        turns = {
            "nothing, 1 element, in process": lambda: in_process(EMPTY, "torch", one),
            "nothing, 1 element, isolated": lambda: call(empty, [*one]),
            "nothing, 4 MiB, in process": lambda: in_process(EMPTY, "torch", many),
            "nothing, 4 MiB, isolated": lambda: call(empty, [*many]),
            "Triton kernel, 1000 elements, in process": lambda: in_process(KERNEL, "triton", thousand),
            "Triton kernel, 1000 elements, isolated": lambda: call(kernel, [*thousand]),
            "the same, and its kernels replayed": lambda: replay(kernel, thousand),
        }
        for action in turns.values():
            action()
        times = {name: [] for name in turns}
        for _ in range(ROUNDS):
            for name, action in turns.items():
                times[name].append(seconds(action))
    times["fresh Python with PyTorch and Triton"] = [seconds(fresh) for _ in range(FRESH_ROUNDS)]
    times["start of a worker, first call"] = [seconds(lambda: start(level)) for _ in range(FRESH_ROUNDS)]
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--level", choices=("strong", "good", "weak"), default=probe().level)
    level = parser.parse_args().level
    choose_interpreter()
    print(probe())
    found = measure(level)
    found["isolation: difference of the first two"] = (
        found["nothing, 1 element, isolated"] - found["nothing, 1 element, in process"]
    )
    whole = found["fresh Python with PyTorch and Triton"]
    print(f"\nlevel {level}, {ROUNDS} rounds")
    for name, value in found.items():
        print(f"{name:42} {value / whole:8.4f} of a fresh Python  ({value * 1e3:7.1f} ms here)")


if __name__ == "__main__":
    main()
