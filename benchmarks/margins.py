"""How much of its tolerance every right answer we have takes, at many seeds: benchmarks/margins.md.

    python benchmarks/margins.py                                   100 seeds in PyTorch, 10 in Triton; writes the page
    python benchmarks/margins.py --missing                         the rows that the page lacks; keeps the others
    python benchmarks/margins.py --exercise silu_backward ...      these exercises; prints their rows, writes nothing
    python benchmarks/margins.py --seeds 300 --triton-seeds 20     more of them

Answers are called directly (tests/material/shares.py): Triton's in the emulator, once a case. The page is written
after each row, so that a run that was interrupted goes on with --missing.
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
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "material"))

import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge import Exercise
from shares import MOST, Margin, margin_of

NOTE = """# Margins

`python benchmarks/margins.py --seeds {seeds} --triton-seeds {triton_seeds}`, PyTorch {torch} ({cpu}), Triton
{triton}.

A right answer passes at every seed. The table has the largest share of its tolerance that one element of any right
answer takes, at {seeds} seeds in PyTorch and {triton_seeds} in Triton: ours (distinctions included), PyTorch's own,
those of tests/material/honest, and each formula in nine arithmetics (tests/material/float32_sums.py). What is compared
exactly has no row. Goal: none above {most:.0%}; a tolerance that one exceeds is derived anew, from the formula.

{verdict}
"""
HEAD = "| exercise | backend | answers | largest share | in case | by | seed | run |\n" + "|---" * 8 + "|"
Job = tuple[str, str, range]
Key = tuple[str, str]  # exercise and backend
NOT_RUN = "not run"
PAGE = Path(__file__).with_suffix(".md")


def jobs(names: list[str], seeds: dict[str, int]) -> list[Job]:
    records = [r for r in EXERCISES.values() if isinstance(r, Exercise) and r.tolerance.single]
    chosen = [r for r in records if not names or r.name in names]
    return [(r.name, backend, range(count)) for r in chosen for backend, count in seeds.items() if _has(r, backend)]


def _has(record: Exercise, backend: str) -> bool:
    """Whether there are right answers for this backend; every exercise has formulas in PyTorch."""
    return backend == "torch" or backend in record.backends


def work(job: Job) -> tuple[Job, Margin]:
    name, backend, seeds = job
    torch.set_num_threads(1)
    return job, margin_of(EXERCISES[name], backend, seeds)


def row(job: Job, found: Margin) -> str:
    case = max(found.cases, key=lambda name: found.cases[name])
    share = f"{found.share:.0%}" if found.share <= MOST else f"**{found.share:.0%}**"
    where = f"{case} | {found.answer} | {found.seed} | {time.strftime('%Y-%m-%d')}"
    return f"| `{job[0]}` | {job[1]} | {found.answers} | {share} | {where} |"


def measured(todo: list[Job], processes: int, take: Callable[[Job, Margin], None]) -> None:
    """take: is called with each result as it is there. A bar says what is done; the slowest, Triton's, begin first."""
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=4) as pool:
        ordered = sorted(todo, key=lambda job: job[1] == "torch")
        for done, one in enumerate(pool.imap_unordered(work, ordered), 1):
            take(*one)
            full = 30 * done // len(todo)
            bar = f"[{'=' * full}{' ' * (30 - full)}] {done} of {len(todo)}"
            print(f"\r{bar}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def rows_of(page: str) -> dict[Key, str]:
    """The rows of a page that were run."""
    found = {}
    for line in page.splitlines():
        if line.startswith("| `") and NOT_RUN not in line:
            name, backend = line.split(" | ")[:2]
            found[name.strip("| `"), backend] = line
    return found


def verdict(rows: list[str]) -> str:
    cells = [line.strip("| ").split(" | ") for line in rows]
    run = [one for one in cells if NOT_RUN not in one]
    above = sum("**" in share for _, _, _, share, *_ in run)
    said = f"{sum(int(answers) for _, _, answers, *_ in run)} answers in {len(run)} rows: "
    said += f"{above} rows above {MOST:.0%}." if above else f"none refused, none above {MOST:.0%}."
    return said + (f" {len(cells) - len(run)} rows are not run." if len(run) < len(cells) else "")


def page(rows: list[str], seeds: dict[str, int]) -> str:
    note = NOTE.format(
        most=MOST,
        seeds=seeds["torch"],
        triton_seeds=seeds["triton"],
        cpu=torch.backends.cpu.get_cpu_capability(),
        verdict=verdict(rows),
        torch=torch.__version__,
        triton=version("triton"),
    )
    return "\n".join((note, HEAD, *rows)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--triton-seeds", type=int, default=10)
    parser.add_argument("--exercise", nargs="+", default=[])
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    seeds = {"torch": asked.seeds, "triton": asked.triton_seeds}
    todo = jobs(asked.exercise, {backend: count for backend, count in seeds.items() if count})
    if asked.exercise:
        print(HEAD)
        measured(todo, asked.processes, lambda job, found: print(row(job, found), flush=True))
        return
    kept = rows_of(PAGE.read_text(encoding="utf-8")) if asked.missing else {}
    rows = {job[:2]: kept.get(job[:2], f"| `{job[0]}` | {job[1]} | {NOT_RUN} | | | | | |") for job in todo}

    def take(job: Job, found: Margin) -> None:
        rows[job[:2]] = row(job, found)
        PAGE.write_text(page(list(rows.values()), seeds), encoding="utf-8")

    measured([job for job in todo if job[:2] not in kept], asked.processes, take)
    print(page(list(rows.values()), seeds))


if __name__ == "__main__":
    main()
