"""56 launches with and without races between programs, labelled by the authors of a race detector, put to `sanitize`.

    python research/checkers/tritonracebench.py FOLDER

FOLDER: a checkout of github.com/Deep-Learning-Profiling-Tools/triton-viz at commit 4e2af488 (MIT); its corpus,
`evaluation/kernels/tritonracebench.py`, is not copied here. A row is a kernel, its arguments at seed 0 and a grid, and
runs in a process of its own, for at most 60 seconds. Prints a table in Markdown, tritonracebench.md. Without FOLDER:
not run.
"""

import json
import os
import subprocess
import sys
from collections import Counter

SECONDS = 60
RACES = {"store-conflict", "race-read", "race-write", "own-store", "own-load"}
EQUAL = "the programs store equal values, which no order changes: it is not reported"
WHY = {  # read by hand, of the rows whose verdict is not the label
    "trb001_pid_stride_yes": f"neighbouring tiles overlap by half, `out = x + 1` of the same elements: {EQUAL}",
    "trb003_tail_clamp_yes": f"two programs clamp their lanes to the last element: {EQUAL}",
    "trb008_loop_stride_yes": f"a program's next round is its neighbour's present one: {EQUAL}",
    "trb010_scatter_yes": f"all indices are 0: {EQUAL}",
    "trb019_symbolic_trip_yes": f"rounds spill into the next program's segment: {EQUAL}",
    "trb025_poll_initial_yes": "program 0, which runs first, sets the flag to 1, and the others wait for a 0 "
    "that never comes: the launch does not end",
}
ONE = "one"  # the word with which a row's own process is started


def specs(folder: str) -> dict:
    """The corpus's rows by name."""
    sys.path.insert(0, folder)
    from evaluation.kernels.tritonracebench import CORPUS

    return {spec.name: spec for spec in CORPUS.specs}


def one(folder: str, name: str) -> None:
    """Prints what is found in one row."""
    from graded_kernels.autograder.gpu.emulator import EmulatorError
    from graded_kernels.autograder.gpu.sanitize.watching import watched

    spec, found = specs(folder)[name], []
    with watched(found.append, shim=False):
        arguments = spec.make_args(0)
        try:
            spec.kernel_fn[spec.grid](*arguments, **spec.constexprs)
        except EmulatorError:
            pass  # it is among the findings
    findings = [event["finding"] for event in found if "finding" in event]
    print(json.dumps([[one["kind"], one["level"], one["message"]] for one in findings]))


def judged(folder: str, name: str) -> list | str:
    """The findings of one row, or how its process ended."""
    command = [sys.executable, __file__, folder, ONE, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"not done after {SECONDS} s"
    lines = done.stdout.splitlines()
    return json.loads(lines[-1]) if done.returncode == 0 and lines else (done.stderr.splitlines() or ["?"])[-1]


def line(expected: str, found: list | str) -> tuple[bool, str]:
    """Whether the verdict is the label, and the verdict in words."""
    if isinstance(found, str):
        return False, found
    kinds = sorted({kind for kind, level, _ in found if level == "fault"})
    races = bool(RACES.intersection(kinds))
    return races == (expected == "race"), ", ".join(kinds) or "nothing found"


def main(folder: str) -> None:
    """Prints the page."""
    rows = {name: (spec.expected, line(spec.expected, judged(folder, name))) for name, spec in specs(folder).items()}
    counts = Counter((expected, same) for expected, (same, _) in rows.values())
    races, free = (sum(n for (e, _), n in counts.items() if (e == "race") == kind) for kind in (True, False))
    print("# Races of TritonRaceBench\n")
    print(
        "`sanitize` and the labels of the corpus; made by `python research/checkers/tritonracebench.py FOLDER`, whose"
    )
    print("first lines say where the corpus is. The last column is about the rows that differ.\n")
    print(f"{len(rows)} rows: of {races} races {counts['race', True]} found; of {free} others ", end="")
    print(f"{sum(n for (e, same), n in counts.items() if e != 'race' and same)} without a race found.\n")
    print("| row | label | `sanitize` | |\n|---|---|---|---|")
    for name, (expected, (same, said)) in rows.items():
        print(f"| {name} | {expected or 'none'} | {said} | {'' if same else WHY.get(name, 'differs')} |")


if __name__ == "__main__":
    os.environ.setdefault("TRITON_INTERPRET", "1")
    if len(sys.argv) == 1:
        print(__doc__)
    elif sys.argv[2:3] == [ONE]:
        one(sys.argv[1], sys.argv[3])
    else:
        main(sys.argv[1])
