"""Where `graded-kernels grade` stops scaling: measured times of its parts, and a simulation with 1 to 64 workers.

    python benchmarks/scale.py [--chapter 01_silu] [--students 300] [--notebooks 9]

Measured, in processor time on this machine: each check of one right notebook of the chapter; what the client does for a
verdict that comes back (read, write to the store and flush); the start of nbgrader, and what its one process does for a
notebook whose verdicts are all there. Simulated: a class whose notebooks all differ. Workers take checks in order, the
client takes results one after the other, and nbgrader's process begins when the last one is there. A worker is as
fast as a core of this machine; the start of workers and the network are left out.
"""

import argparse
import heapq
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from grade import graded, hand_in, verdicts

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "material"))

import classroom
from graded_kernels.autograder.judge import Store, Verdict

FEW = 1  # notebooks; the difference to a run of more is what a notebook takes
ROUNDS = 20  # of reading and writing a verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chapter", default="01_silu")
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--notebooks", type=int, default=9, help="of how many nbgrader's own step is measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scale-") as folder:
        made = classroom.make(Path(folder) / "course")
        hand_in(made, options.chapter, 0, "first")
        one = Path(shutil.copytree(made, Path(folder) / "one", symlinks=True))
        graded(one, options.chapter, 1)
        found = verdicts(one)
        checks = [verdict.seconds + verdict.grader_seconds for verdict in found]
        client = client_seconds(Store(Path(folder) / "client"), found)
        shutil.copytree(one / "verdicts", made / "verdicts")
        shutil.copy(one / "class_secret", made)
        start, notebook = nbgrader_seconds(made, Path(folder), options.chapter, options.notebooks)
    print(f"{options.chapter}: {len(checks)} checks take {', '.join(f'{seconds:.1f}' for seconds in checks)} s")
    print(f"client: {client * 1e3:.1f} ms for a verdict; nbgrader: {start:.1f} s to start, {notebook:.2f} s a notebook")
    print("\n| workers | checks, s | nbgrader, s | together, min | speed-up | share of the one nbgrader process |")
    print("|---|---|---|---|---|---|")
    last = start + notebook * options.students
    alone = makespan(checks * options.students, client, 1) + last
    for workers in (1, 2, 4, 8, 16, 32, 64):
        checking = makespan(checks * options.students, client, workers)
        whole = checking + last
        row = f"{checking:.0f} | {last:.0f} | {whole / 60:.1f} | {alone / whole:.1f} | {last / whole:.0%}"
        print(f"| {workers} | {row} |")


def client_seconds(store: Store, found: list[Verdict]) -> float:
    """Seconds of processor time for each verdict, from its JSON to the store's disk."""
    texts, before = [verdict.to_json() for verdict in found], time.process_time()
    for _ in range(ROUNDS):
        for text in texts:
            json.loads(text)
            store.put(Verdict.from_json(text))
    return (time.process_time() - before) / (ROUNDS * len(texts))


def nbgrader_seconds(made: Path, folder: Path, chapter: str, many: int) -> tuple[float, float]:
    """(to start, for each notebook) of processor time of `grade` where every verdict is there: no worker is started."""
    took = {}
    for count in (FEW, many):
        course = Path(shutil.copytree(made, folder / f"of-{count}", symlinks=True))
        for number in range(1, count):
            shutil.copytree(course / "submitted" / "learner000", course / "submitted" / f"learner{number:03}")
        _, took[count] = graded(course, chapter, 1)
    notebook = (took[many] - took[FEW]) / (many - FEW)
    return took[FEW] - FEW * notebook, notebook


def makespan(checks: list[float], client: float, workers: int) -> float:
    """When the client has the last verdict, in seconds from the first check."""
    free, results = [0.0] * workers, []
    for check in checks:
        end = heapq.heappop(free) + check
        heapq.heappush(free, end)
        results.append(end)
    now = 0.0
    for end in sorted(results):
        now = max(now, end) + client
    return now


if __name__ == "__main__":
    main()
