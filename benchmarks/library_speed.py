"""The library's elementwise functions on a CPU, beside PyTorch's own.

    python benchmarks/library_speed.py                one thread
    python benchmarks/library_speed.py --threads 2    with as many threads

Processor time (user and system) of 256 x 4,096 elements, the least of several turns A B A B; ratios of the two. Each
function is called once before, which makes the table of half precision. Then the most memory that a call holds beside
its arguments, over its result's bytes, each in a process of its own.
"""

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from graded_kernels import kernels

TURNS = 7
SHAPE = (256, 4096)
LARGE = (4096, 16384)  # beside which what a process holds besides is small


def estimator(logp: torch.Tensor, ref: torch.Tensor) -> torch.Tensor:
    r = ref - logp
    return r.exp() - 1 - r


FUNCTIONS: dict[str, tuple[int, Callable, Callable]] = {  # tensors, ours, PyTorch's
    "silu": (1, kernels.silu, F.silu),
    "gelu": (1, kernels.gelu, F.gelu),
    "gelu, tanh": (1, lambda x: kernels.gelu(x, "tanh"), lambda x: F.gelu(x, approximate="tanh")),
    "swiglu": (2, kernels.swiglu, lambda gate, up: F.silu(gate) * up),
    "kl": (2, kernels.kl, estimator),
}


def forward(function: Callable, tensors: list[torch.Tensor]) -> Callable[[], object]:
    return lambda: function(*tensors)


def both(function: Callable, tensors: list[torch.Tensor]) -> Callable[[], object]:
    leaves = [x.clone().requires_grad_() for x in tensors]
    dy = torch.randn(SHAPE).to(tensors[0].dtype)
    return lambda: torch.autograd.grad(function(*leaves), leaves, dy)


def ratio(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of ours, and over those of theirs."""
    times: tuple[list[float], list[float]] = [], []
    for turn in range(TURNS + 1):
        for run, taken in zip((ours, theirs), times, strict=True):
            start = time.process_time()
            run()
            if turn:
                taken.append((time.process_time() - start) * 1e3)
    least, beside = map(min, times)
    return least, least / beside


def speed() -> None:
    print(
        "| function | dtype | forward, ms | / PyTorch | with its gradient, ms | / PyTorch |\n|---|---|---|---|---|---|"
    )
    for name, (count, ours, theirs) in FUNCTIONS.items():
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            tensors = [torch.randn(SHAPE).to(dtype) for _ in range(count)]
            cells = [ratio(way(ours, tensors), way(theirs, tensors)) for way in (forward, both)]
            shown = " | ".join(f"{least:.2f} | {over:.1f}" for least, over in cells)
            print(f"| {name} | {str(dtype).removeprefix('torch.')} | {shown} |", flush=True)


def peak(name: str, by_us: bool) -> float:
    """The most memory that a call holds, over its result's bytes."""
    count, ours, theirs = FUNCTIONS[name]
    tensors = [torch.ones(LARGE) for _ in range(count)]
    function = ours if by_us else theirs
    function(*(x[:8] for x in tensors))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = function(*tensors)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / result.nbytes


def memory() -> None:
    print("\n| function, float32 | ours | PyTorch's |\n|---|---|---|")
    for name in FUNCTIONS:
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            ours, theirs = pool.starmap(peak, [(name, True), (name, False)], chunksize=1)
        print(f"| {name} | {ours:.2f} | {theirs:.2f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    torch.set_num_threads(parser.parse_args().threads)
    torch.manual_seed(0)
    speed()
    memory()
