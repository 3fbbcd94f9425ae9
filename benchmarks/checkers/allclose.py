"""The usual check, `allclose` on normal random inputs, put to every wild bug. Writes allclose.md beside this file.

python benchmarks/checkers/allclose.py
"""

from pathlib import Path

import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.exercises.record import Bug, Case, Exercise
from graded_kernels.autograder.judge.judge import arguments
from graded_kernels.autograder.run.contract import as_tuple

DRAWS = 5
KERNELBENCH = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}
BACKENDBENCH = dict.fromkeys(KERNELBENCH, 1e-2)
ABOUT = """# The usual check on the wild bugs

Each wild bug (benchmarks/wild.md) gets {draws} draws of its exercise's ordinary values: normal random numbers in
float32 and an ordinary shape, of GELU in both forms. *Accepts*: in every draw every output is `allclose` to the
oracle's float64 values, rounded, with atol = rtol = 1e-4 (KernelBench's tolerance for float32) or 1e-2
(BackendBench's). The course's check refuses all of them.

PyTorch {torch}. Made by `python benchmarks/checkers/allclose.py`.

**KernelBench's tolerance accepts {kernel} of {all}, BackendBench's {backend}.**

| wild bug | exercise | 1e-4 accepts | 1e-2 accepts |
|---|---|---|---|"""


def ordinary(exercise: Exercise) -> list[Case]:
    return [case for case in exercise.cases if case.name.endswith("ordinary values")]


def accepts(exercise: Exercise, case: Case, bug: Bug, tolerances: dict[torch.dtype, float]) -> bool:
    for draw in range(DRAWS):
        args = arguments(case, 0, draw)
        try:
            results = as_tuple(bug.function(*args))
        except Exception:
            return False
        for result, exact in zip(results, exercise.exact(args), strict=False):
            bound = tolerances.get(result.dtype, 0.0)
            wanted = exact.to(result.dtype)
            if result.shape != wanted.shape or not result.allclose(wanted, bound, bound, equal_nan=True):
                return False
    return True


def main() -> None:
    rows, counts = [], [0, 0]
    for exercise in EXERCISES.values():
        for bug in exercise.wild if isinstance(exercise, Exercise) else ():
            said = [
                all(accepts(exercise, case, bug, tolerances) for case in ordinary(exercise))
                for tolerances in (KERNELBENCH, BACKENDBENCH)
            ]
            counts = [count + one for count, one in zip(counts, said, strict=True)]
            cells = " | ".join("**yes**" if one else "no" for one in said)
            rows.append(f"| {bug.who} ({getattr(bug, 'thread', 'a common mistake')}) | {exercise.name} | {cells} |")
    head = ABOUT.format(draws=DRAWS, torch=torch.__version__, kernel=counts[0], backend=counts[1], **{"all": len(rows)})
    page = Path(__file__).with_suffix(".md")
    page.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    print(page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
