"""How much of its tolerance every right answer we have takes, at many seeds: benchmarks/margins.md.

    python benchmarks/margins.py                                   100 seeds in PyTorch, 10 in Triton; writes the page
    python benchmarks/margins.py --exercise silu_backward ...      these exercises; prints their rows, writes nothing
    python benchmarks/margins.py --seeds 300 --triton-seeds 20     more of them

Answers are called directly (tests/shares.py): Triton's in the emulator, once a case.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.exercises.record import Exercise
from shares import MOST, Margin, margin_of

NOTE = """# Margins

`python benchmarks/margins.py --seeds {seeds} --triton-seeds {triton_seeds}`, {date}, PyTorch {torch} ({cpu}), Triton
{triton}, {cores} cores, {minutes:.0f} minutes of processor time.

A right answer passes at every seed. The table has the largest share of its tolerance that one element of any right
answer takes, at {seeds} seeds in PyTorch and {triton_seeds} in Triton: ours (distinctions included), PyTorch's own,
those of tests/honest, and each formula in nine arithmetics (tests/float32_sums.py). Goal: none above {most:.0%}; a
tolerance that one exceeds is derived anew, from the formula.

{verdict}
"""
HEAD = "| exercise | backend | answers | largest share | in case | by | seed |\n" + "|---" * 7 + "|"
Job = tuple[str, str, range]


def jobs(names: list[str], seeds: dict[str, int]) -> list[Job]:
    records = [r for r in EXERCISES.values() if isinstance(r, Exercise) and r.tolerance.single]
    chosen = [r for r in records if not names or r.name in names]
    return [(r.name, backend, range(count)) for r in chosen for backend, count in seeds.items() if _has(r, backend)]


def _has(record: Exercise, backend: str) -> bool:
    """Whether there are right answers for this backend; every exercise has formulas in PyTorch."""
    return backend == "torch" or backend in record.backends


def work(job: Job) -> tuple[Job, Margin, float]:
    name, backend, seeds = job
    torch.set_num_threads(1)
    begun = time.process_time()
    return job, margin_of(EXERCISES[name], backend, seeds), time.process_time() - begun


def row(job: Job, found: Margin) -> str:
    case = max(found.cases, key=lambda name: found.cases[name])
    share = f"{found.share:.0%}" if found.share <= MOST else f"**{found.share:.0%}**"
    return f"| `{job[0]}` | {job[1]} | {found.answers} | {share} | {case} | {found.answer} | {found.seed} |"


def measured(todo: list[Job], processes: int, show: Callable[[str], None]) -> list[tuple[Job, Margin, float]]:
    """show: is called with each row as it is there. A bar says what is done; the slowest, Triton's, begin first."""
    found = []
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=4) as pool:
        for one in pool.imap_unordered(work, sorted(todo, key=lambda job: job[1] == "torch")):
            found.append(one)
            show(row(*one[:2]))
            full = 30 * len(found) // len(todo)
            bar = f"[{'=' * full}{' ' * (30 - full)}] {len(found)} of {len(todo)}"
            print(f"\r{bar}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return sorted(found, key=lambda one: todo.index(one[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--triton-seeds", type=int, default=10)
    parser.add_argument("--exercise", nargs="+", default=[])
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    seeds = {"torch": asked.seeds, "triton": asked.triton_seeds}
    todo = jobs(asked.exercise, {backend: count for backend, count in seeds.items() if count})
    if asked.exercise:
        print(HEAD)
        measured(todo, asked.processes, lambda row: print(row, flush=True))
        return
    found = measured(todo, asked.processes, lambda row: None)
    rows = [HEAD, *(row(job, margin) for job, margin, _ in found)]
    above = [job for job, margin, _ in found if margin.share > MOST]
    answers = sum(margin.answers for _, margin, _ in found)
    note = NOTE.format(
        most=MOST,
        seeds=asked.seeds,
        triton_seeds=asked.triton_seeds,
        date=time.strftime("%Y-%m-%d"),
        minutes=sum(seconds for _, _, seconds in found) / 60,
        cpu=torch.backends.cpu.get_cpu_capability(),
        cores=os.cpu_count(),
        verdict=f"{answers} answers: {len(above) or 'none'} of {len(found)} rows above {MOST:.0%}."
        if above
        else f"{answers} answers: none refused, none above {MOST:.0%}.",
        torch=torch.__version__,
        triton=version("triton"),
    )
    text = note + "\n" + "\n".join(rows) + "\n"
    print(text)
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
