"""Verdicts a minute and core of `compare`, beside KernelBench's own comparison in the same run.

    git clone https://github.com/ScalingIntelligence/KernelBench
    OMP_NUM_THREADS=1 python benchmarks/side_by_side_speed.py KernelBench

The candidate of each problem is the problem's own file with `Model` named `ModelNew`, and for three of them a Triton
kernel. KernelBench's evaluation needs CUDA; what it does on a CPU just so is taken from its file as it is:
`run_and_check_correctness`, five draws and `allclose`. Both get the problem in the sizes that `compare` makes of it.
Time is processor time of this process and of all that it starts (`stopwatch`), so that other programs on the machine
count for nothing.
"""

import argparse
import ast
import functools
import tempfile
import traceback
import typing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from graded_kernels.autograder import compare
from graded_kernels.autograder.judge.side_by_side import kernelbench
from graded_kernels.autograder.runner import Worker
from stopwatch import Stopwatch

PROBLEMS = (
    *("level1/19_ReLU", "level1/23_Softmax", "level1/25_Swish", "level1/26_GELU_", "level1/36_RMSNorm_"),
    *("level1/40_LayerNorm", "level1/47_Sum_reduction_over_a_dimension"),
    *("level1/1_Square_matrix_multiplication_", "level2/12_Gemm_Multiply_LeakyReLU", "level2/1_Conv2D_ReLU_BiasAdd"),
    "level2/37_Matmul_Swish_Sum_GroupNorm",
)
KERNELS = {
    "level1/19_ReLU": "tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)",
    "level1/25_Swish": "x * tl.sigmoid(x)",
    "level1/26_GELU_": "0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))",
}
TRITON = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, {formula}, mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        if x.numel():
            kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
"""
THEIRS = ("set_seed", "get_torch_dtype_from_string", "get_tolerance_for_precision", "_process_input_tensor")
THEIRS += ("run_and_check_correctness", "register_and_format_exception", "get_error_name")
TRIALS = 5  # KernelBench's num_correct_trials
WATCH = Stopwatch()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", nargs="+", default=[""], help="problems whose path has one of these in it")
    options = parser.parse_args()
    WATCH.join()
    theirs = comparison_of(options.checkout)
    rows: list[Any] = []
    print("| problem | candidate | KernelBench's comparison | compare | compare, isolated |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in (one for one in PROBLEMS if any(word in one for word in options.only)):
            (problem,) = options.checkout.glob(f"KernelBench/{name}*.py")
            own = Path(folder) / f"own_{problem.name}"
            own.write_text(
                problem.read_text()
                .replace("class Model(", "class ModelNew(")
                .replace("super(Model,", "super(ModelNew,")
            )
            candidates = {"its own code": own}
            if name in KERNELS:
                candidates["Triton"] = Path(folder) / f"triton_{problem.name}"
                candidates["Triton"].write_text(TRITON.format(formula=KERNELS[name]))
            for what, file in candidates.items():
                rows.append((name, what, *judged(problem, file, theirs if what != "Triton" else None)))
                print(f"| {name} | {what} | {' | '.join(map(shown, rows[-1][2:]))} |", flush=True)
    print(f"| verdicts a minute and core | its own code | {' | '.join(pace(rows, n, False) for n in (2, 3, 4))} |")
    print(f"| verdicts a minute and core | Triton | {' | '.join(pace(rows, n, True) for n in (2, 3, 4))} |")
    WATCH.close()


def judged(problem: Path, candidate: Path, theirs: Any) -> tuple[tuple[float, bool] | None, ...]:
    """(seconds, verdict) of KernelBench's comparison, of `compare` and of `compare` isolated."""
    found = [timed(lambda: theirs(problem, candidate)) if theirs else None]
    sides = str(problem), str(candidate)
    found.append(timed(lambda: compare(*sides, simulated=False, compiler=False, any_method=True).passed))
    seconds, verdict = timed(lambda: isolated(sides))
    return *found, (seconds - start(), verdict)


def isolated(sides: tuple[str, str]) -> bool:
    with Worker() as worker:
        return compare(*sides, worker=worker, isolated=True, simulated=False, compiler=False, any_method=True).passed


@functools.cache
def start() -> float:
    """Processor seconds that a sandbox's process takes to start and to end: it serves any number of verdicts."""

    def started() -> None:
        with Worker() as worker:
            worker.ready()

    return sorted(timed(started)[0] for _ in range(3))[1]


def timed(run: Any) -> tuple[float, bool]:
    """(processor seconds, what it returned)."""
    before = WATCH.read()
    verdict = run()
    return WATCH.read() - before, verdict


def comparison_of(checkout: Path) -> Any:
    """KernelBench's comparison on the CPU: the functions of its eval.py, unchanged; a GPU is not waited for."""
    tree = ast.parse((checkout / "src/kernelbench/eval.py").read_text())
    body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in THEIRS]
    names: dict[str, Any] = vars(typing) | {"torch": torch, "nn": torch.nn, "traceback": traceback}
    names["KernelExecResult"] = SimpleNamespace  # which holds the same and checks its types
    exec(compile(ast.Module(body, []), "eval.py", "exec"), names)
    torch.cuda.synchronize = lambda device=None: None
    check = functools.partial(names["run_and_check_correctness"], num_correct_trials=TRIALS, device=torch.device("cpu"))

    def run(problem: Path, candidate: Path) -> bool:
        known = kernelbench.problem(str(problem), 42)
        new = kernelbench.solution(str(candidate), known.initial, 42)
        return bool(check(known.model, new, lambda: known.arguments(0), metadata={}).correctness)

    return run


def shown(one: tuple[float, bool] | None) -> str:
    return "not run: needs a GPU" if one is None else f"{one[0]:.2f} s, {'right' if one[1] else 'wrong'}"


def pace(rows: list[Any], column: int, triton: bool) -> str:
    times = [row[column][0] for row in rows if (row[1] == "Triton") is triton and row[column]]
    return f"{60 * len(times) / sum(times):,.1f}" if times else "not run"


if __name__ == "__main__":
    main()
