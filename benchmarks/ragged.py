"""Kernels whose programs need different rounds: beside equal rounds, and beside Triton's own interpreter.

    python benchmarks/ragged.py            ragged loops, branches and causal attention
    python benchmarks/ragged.py --dot      what it costs that `tl.dot` sums K in one order: beside BLAS in float32
    python benchmarks/ragged.py --follow   what histories cost, which tell where two rows part: beside a run without

Milliseconds of processor time, the least of three turns A B A B; the interpreter's of one turn, behind them.
"""

import argparse
import os
import time
from collections.abc import Callable

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import torch
import triton
import triton.language as tl
from graded_kernels.autograder.gpu.emulator import Emulator, products

TURNS = 3


@triton.jit
def sums_kernel(x_ptr, length_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(length_ptr + row)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, length, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n + at, mask=at < length, other=0.0)
    tl.store(y_ptr + row, tl.sum(total, 0))


@triton.jit
def while_kernel(x_ptr, length_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    length = tl.load(length_ptr + row)
    total = tl.zeros((BLOCK,), tl.float32)
    start = 0
    while start < length:
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n + at, mask=at < length, other=0.0)
        start += BLOCK
    tl.store(y_ptr + row, tl.sum(total, 0))


@triton.jit
def sides_kernel(x_ptr, length_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """A branch on a loaded number, another in each round."""
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(16):
        x = tl.load(x_ptr + row * n + i * BLOCK + lanes)
        if tl.load(x_ptr + row * n + i) > 0:
            total += tl.exp(x)
        else:
            total -= x * x
    tl.store(y_ptr + row, tl.sum(total, 0))


@triton.jit
def choices_kernel(x_ptr, length_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """`sides_kernel` in one line."""
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(16):
        x = tl.load(x_ptr + row * n + i * BLOCK + lanes)
        total += tl.exp(x) if tl.load(x_ptr + row * n + i) > 0 else -x * x
    tl.store(y_ptr + row, tl.sum(total, 0))


@triton.jit
def exp_or_square(x):
    if x > 0:
        return tl.exp(x)
    return -x * x


@triton.jit
def returns_kernel(x_ptr, length_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """A function that returns from two places, in each round."""
    row = tl.program_id(0)
    total = tl.load(x_ptr + row)
    for i in range(16):
        total += exp_or_square(tl.load(x_ptr + row * n + i))
    tl.store(y_ptr + row, total)


@triton.jit
def early_kernel(x_ptr, length_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Half of the programs return before the loop."""
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    if tl.load(x_ptr + row * n) > 0:
        return
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(16):
        total += tl.exp(tl.load(x_ptr + row * n + i * BLOCK + lanes))
    tl.store(y_ptr + row, tl.sum(total, 0))


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, T, scale, BLOCK: tl.constexpr, D: tl.constexpr):
    """Causal: a block of queries takes as many blocks of keys as come before it."""
    p, d = tl.program_id(0), tl.arange(0, D)
    rows = p * BLOCK + tl.arange(0, BLOCK)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    most = tl.full((BLOCK,), -1e30, tl.float32)
    weight = tl.zeros((BLOCK,), tl.float32)
    total = tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, (p + 1) * BLOCK, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        k = tl.load(k_ptr + keys[:, None] * D + d[None, :])
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(rows[:, None] >= keys[None, :], s, -1e30)
        new = tl.maximum(most, tl.max(s, 1))
        e = tl.exp(s - new[:, None])
        shrink = tl.exp(most - new)
        v = tl.load(v_ptr + keys[:, None] * D + d[None, :])
        weight = weight * shrink + tl.sum(e, 1)
        total = total * shrink[:, None] + tl.dot(e, v, input_precision="ieee")
        most = new
    tl.store(o_ptr + rows[:, None] * D + d[None, :], total / weight[:, None])


def rows(kernel, lengths: torch.Tensor, n: int) -> Callable[[], torch.Tensor]:
    x = torch.randn(len(lengths), n, generator=torch.Generator().manual_seed(0))

    def run() -> torch.Tensor:
        y = torch.empty(len(lengths))
        kernel[(len(lengths),)](x, lengths.int(), y, n, BLOCK=32)
        return y

    return run


def attention(length: int) -> Callable[[], torch.Tensor]:
    q, k, v = torch.randn(3, length, 32, generator=torch.Generator().manual_seed(0))

    def run() -> torch.Tensor:
        o = torch.empty(length, 32)
        attention_kernel[(length // 32,)](q, k, v, o, length, 32**-0.5, BLOCK=32, D=32)
        return o

    return run


def ragged(programs: int) -> torch.Tensor:
    """Every program another number of rounds, 1 to ``programs``."""
    return torch.arange(1, programs + 1) * 32


def equal(programs: int) -> torch.Tensor:
    """As many rounds in all."""
    return torch.full((programs,), 16 * (programs + 1))


# What is measured, beside which program of equal rounds, and whether the interpreter is asked as well.
CASES = {
    "for, 64 programs": (rows(sums_kernel, ragged(64), 2048), rows(sums_kernel, equal(64), 2048)),
    "for, 256 programs": (rows(sums_kernel, ragged(256), 8192), rows(sums_kernel, equal(256), 8192)),
    "while, 64 programs": (rows(while_kernel, ragged(64), 2048), rows(while_kernel, equal(64), 2048)),
    "if and else, 16 rounds, 256 programs": (rows(sides_kernel, ragged(256), 8192), None),
    "`x if c else y`, 16 rounds, 256 programs": (rows(choices_kernel, ragged(256), 8192), None),
    "a function that returns from two places, the same": (rows(returns_kernel, ragged(256), 8192), None),
    "`return` before the loop, the same": (rows(early_kernel, ragged(256), 8192), None),
    "causal attention, 512 queries": (attention(512), None),
    "causal attention, 1,024 queries": (attention(1024), None),
    "causal attention, 4,096 queries": (attention(4096), None),
}


def timed(run: Callable[[], torch.Tensor]) -> tuple[float, torch.Tensor]:
    start = time.process_time()
    result = run()
    return (time.process_time() - start) * 1e3, result


def emulated(run: Callable[[], torch.Tensor], follow: bool = False) -> float:
    with Emulator(follow=follow) as emulator:
        milliseconds, _ = timed(run)
        assert not emulator.fallbacks, emulator.fallbacks
    return milliseconds


def raggedness() -> None:
    print(
        "| kernel | emulator, ms | / equal rounds | interpreter, ms | emulator / interpreter |\n|---|---|---|---|---|"
    )
    for name, (run, even) in CASES.items():
        ours, beside = [], []
        for _ in range(TURNS):
            ours.append(emulated(run))
            if even:
                beside.append(emulated(even))
        plain, _ = timed(run)
        ratio = f"{min(ours) / min(beside):.1f}" if even else ""
        print(f"| {name} | {min(ours):.1f} | {ratio} | {plain:,.0f} | {min(ours) / plain:.4f} |", flush=True)


def blas(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product that `products.product_float32` stands in place of."""
    return np.matmul(np.ascontiguousarray(a, np.float32), np.ascontiguousarray(b, np.float32))


def dot() -> None:
    in_order = products.product_float32
    print("| kernel | K in order, ms | BLAS in float32, ms | ratio |\n|---|---|---|---|")
    for name in [name for name in CASES if "attention" in name]:
        run, _ = CASES[name]
        times: dict[Callable, list[float]] = {in_order: [], blas: []}
        for _ in range(TURNS):
            for way, taken in times.items():
                products.product_float32 = way
                taken.append(emulated(run))
        products.product_float32 = in_order
        ordered, unordered = min(times[in_order]), min(times[blas])
        print(f"| {name} | {ordered:.1f} | {unordered:.1f} | {ordered / unordered:.2f} |", flush=True)


def follow() -> None:
    print("| kernel | with histories, ms | without, ms | ratio |\n|---|---|---|---|")
    for name, (run, _) in CASES.items():
        times = [(emulated(run, follow=True), emulated(run)) for _ in range(TURNS)]
        followed, plain = map(min, zip(*times, strict=True))
        print(f"| {name} | {followed:,.1f} | {plain:,.1f} | {followed / plain:.2f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dot", dest="measure", action="store_const", const=dot, default=raggedness)
    parser.add_argument("--follow", dest="measure", action="store_const", const=follow)
    torch.set_num_threads(1)
    parser.parse_args().measure()
