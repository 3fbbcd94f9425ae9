"""The emulator on kernels that nobody here wrote, Liger-Kernel's: time as a ratio to Triton's interpreter.

    git clone https://github.com/linkedin/Liger-Kernel
    python benchmarks/emulator_liger.py Liger-Kernel                64 rows of 1,000
    python benchmarks/emulator_liger.py Liger-Kernel --rows 256     with as many rows, a multiple of 16
    python benchmarks/emulator_liger.py Liger-Kernel --profile      where the emulator's time goes, for each kernel

Processor time of a call of Liger's own launcher, the least of two turns A B A B of five calls; a call before them does
not count. Where a result differs from the interpreter's, the script ends. Kernels that Triton's interpreter refuses are
left out: SwiGLU, RMS norm, poly norm and the forward of layer norm and group norm call `.to` on a scalar argument,
which is a Python number there, GEGLU takes `tanh` of libdevice, and DyT's autotuner asks for a GPU.
"""

import argparse
import cProfile
import pstats
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import torch
from emulator_answers import fastest, mean, randn
from graded_kernels.autograder.gpu import Emulator

TURNS = 2
WIDTH = 1000
PROFILED = 60  # calls under the profiler
SHOWN = 8  # functions of a profile

Call = Callable[[], object]


def ops(module: str):
    return import_module(f"liger_kernel.ops.{module}")


def softmax(x: torch.Tensor, dy: torch.Tensor) -> Call:
    return lambda: ops("softmax")._softmax_forward(x)[0]


def softmax_backward(x: torch.Tensor, dy: torch.Tensor) -> Call:
    return lambda: ops("softmax")._softmax_backward(dy, x.softmax(-1), 1024, 4, False)


def sparsemax(x: torch.Tensor, dy: torch.Tensor) -> Call:
    return lambda: ops("sparsemax")._sparsemax_forward(x, -1)[0]


def sparsemax_backward(x: torch.Tensor, dy: torch.Tensor) -> Call:
    return lambda: ops("sparsemax")._sparsemax_backward(dy, x.relu(), -1)


def layer_norm_backward(x: torch.Tensor, dy: torch.Tensor) -> Call:
    """A program for four rows. Liger's launcher starts one for each multiprocessor, and on a CPU a single one."""
    kernel, weight, rows = ops("layer_norm")._layer_norm_backward_kernel, randn(WIDTH), len(x)
    mean, rstd, programs = x.mean(1), 1 / x.std(1), rows // 4

    def run():
        dx, dw, db = torch.empty_like(x), torch.empty(programs, WIDTH), torch.empty(programs, WIDTH)
        statistics = weight, mean, 1, rstd, 1
        outputs = dx, WIDTH, dw, WIDTH, db, WIDTH, dy, WIDTH
        kernel[(programs,)](x, WIDTH, *statistics, *outputs, rows, WIDTH, rows_per_program=4, BLOCK_SIZE=1024)
        return dx, dw, db

    return run


def jsd(x: torch.Tensor, dy: torch.Tensor) -> Call:
    logs = x.log_softmax(-1), dy.log_softmax(-1)
    return lambda: ops("jsd").jsd_forward(*logs, None, 0.5, -100, False)


def kl(x: torch.Tensor, dy: torch.Tensor) -> Call:
    logp, target = x.log_softmax(-1), dy.softmax(-1)
    return lambda: ops("kl_div").kldiv_forward_triton(logp, target, False, "none", 1e-10)


def kl_backward(x: torch.Tensor, dy: torch.Tensor) -> Call:
    target, one = dy.log_softmax(-1), torch.tensor(1.0)
    return lambda: ops("kl_div").kldiv_backward_triton(target, one, torch.empty_like(target), True)


def relu_squared(x: torch.Tensor, dy: torch.Tensor) -> Call:
    return lambda: ops("relu_squared").relu_squared_forward(x)


def relu_squared_backward(x: torch.Tensor, dy: torch.Tensor) -> Call:
    return lambda: ops("relu_squared").relu_squared_backward(x, dy)


def rope(x: torch.Tensor, dy: torch.Tensor) -> Call:
    """A position for each row, four heads of queries and two of keys, 64 wide."""
    rows = len(x)
    q, k, cos, sin = randn(1, 4, rows, 64), randn(1, 2, rows, 64), randn(1, rows, 64), randn(1, rows, 64)
    return lambda: ops("rope").rope_forward(q.clone(), k.clone(), cos, sin)[:2]


def group_norm_backward(x: torch.Tensor, dy: torch.Tensor) -> Call:
    """A program for four channels, of the sixteen that a sample has."""
    samples, weight = len(x) // 16, randn(16)
    shape, mean, rstd = (samples, 16, WIDTH), randn(samples, 4), randn(samples + 1, 4)[1:]
    run = ops("group_norm").group_norm_backward
    return lambda: run(dy.view(shape), x.view(shape), weight, weight, mean, rstd, 16, 4)


def cross_entropy(x: torch.Tensor, dy: torch.Tensor) -> Call:
    """With its gradient, which takes the place of the logits."""
    labels, run = torch.arange(len(x)), ops("cross_entropy").cross_entropy_forward
    return lambda: run(x.clone().requires_grad_(), labels, None, -100, 0.0, 0.1, "mean", None, False)[::4]


def total_variation(x: torch.Tensor, dy: torch.Tensor) -> Call:
    p, q = x.softmax(-1), dy.softmax(-1)
    return lambda: ops("tvd").tv_distance_forward_triton(p, q, None, "none", -100, False)


KERNELS = (
    softmax,
    softmax_backward,
    sparsemax,
    sparsemax_backward,
    layer_norm_backward,
    jsd,
    kl,
    kl_backward,
    relu_squared,
    relu_squared_backward,
    rope,
    group_norm_backward,
    cross_entropy,
    total_variation,
)


def calls(rows: int) -> Iterator[tuple[str, Call]]:
    """The name of each kernel, and a call of it."""
    for make in KERNELS:
        yield make.__name__.replace("_", " "), make(randn(rows, WIDTH), randn(WIDTH, rows).view(rows, WIDTH))


def turns(run: Call) -> tuple[float, float]:
    """Processor seconds of a call in the interpreter and in the emulator."""
    plain, ours, expected = [], [], run()
    for _ in range(TURNS):
        plain.append(fastest(run))
        with Emulator():
            torch.testing.assert_close(run(), expected, rtol=1e-5, atol=1e-6)
            ours.append(fastest(run))
    return min(plain), min(ours)


def table(rows: int) -> None:
    print("| kernel | interpreter, ms | emulator, ms | ratio |\n|---|---|---|---|")
    ratios = []
    for title, run in calls(rows):
        plain, ours = turns(run)
        ratios.append(ours / plain)
        print(f"| {title} | {1000 * plain:.0f} | {1000 * ours:.2f} | {ratios[-1]:.4f} |", flush=True)
    print(f"| geometric mean | | | {mean(ratios):.4f} |")


def profiles(rows: int) -> None:
    """The functions with the largest own time, as shares of all. The profiler makes Python's calls look dearer."""
    for title, run in calls(rows):
        profile = cProfile.Profile(time.process_time)
        with Emulator():
            run()
            profile.enable()
            for _ in range(PROFILED):
                run()
            profile.disable()
        statistics = pstats.Stats(profile)
        print(f"{title}: {statistics.total_calls // PROFILED:,} calls of Python's functions")
        most = sorted(statistics.stats.items(), key=lambda item: -item[1][2])[:SHOWN]
        for (path, line, function), (_, count, own, _, _) in most:
            where = f"{Path(path).name}:{line} {function}"
            print(f"    {own / statistics.total_tt:6.1%}  {count // PROFILED:5} calls  {where}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="of linkedin/Liger-Kernel")
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--profile", action="store_true", help="where the emulator's time goes")
    wanted = parser.parse_args()
    sys.path.insert(0, str(wanted.checkout / "src"))
    torch.set_num_threads(1)
    (profiles if wanted.profile else table)(wanted.rows)
