"""The usual check, `allclose` on normal random inputs, put to every bug that shipped. Writes allclose.md beside it.

python research/checkers/allclose.py
"""

from datetime import date
from pathlib import Path

import torch
from graded_kernels.autograder import EXERCISES
from graded_kernels.autograder.judge.judge import arguments
from graded_kernels.autograder.judge.records.record import Bug, Case, Exercise

DRAWS = 5
# Where an exercise's ordinary values leave out what it is about, the case that random numbers would be.
RANDOM = {
    "accumulation_weights": "several ranks",
    "cross_entropy_backward": "a dloss for each row",
    "merge_attention": "lse near 3",
    "policy_loss_backward": "some tokens count",
}
KERNELBENCH = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}
BACKENDBENCH = dict.fromkeys(KERNELBENCH, 1e-2)
ABOUT = """# The usual check on bugs that shipped

`python research/checkers/allclose.py`, {date}, PyTorch {torch}.

Each bug (benchmarks/wild.md) gets {draws} draws of its exercise's ordinary values: normal random numbers in
float32 and an ordinary shape, of GELU in both forms. Where these leave out what the exercise is about (token counts
that differ, a dloss for each row), it gets as many draws of the first case that has it, too. *Accepts*: in every draw
every output is `allclose` to the oracle's float64 values, rounded, with atol = rtol = 1e-4 (KernelBench's tolerance for
float32) or 1e-2 (BackendBench's). The course's check refuses all of them.

| exercise | bugs | 1e-4 accepts | 1e-2 accepts |
|---|---|---|---|
{rows}

Refused by both: {refused}.
Refused by 1e-4 alone: {between}.
"""


def ordinary(exercise: Exercise) -> list[Case]:
    random = RANDOM.get(exercise.name)
    return [case for case in exercise.cases if case.name.endswith("ordinary values") or case.name == random]


def accepts(exercise: Exercise, case: Case, bug: Bug, tolerances: dict[torch.dtype, float]) -> bool:
    for draw in range(DRAWS):
        args = arguments(case, 0, draw)
        try:
            results = exercise.contract.results_of(exercise.contract.with_gradient(bug.function), args)
        except Exception:
            return False
        for result, exact in zip(results, exercise.exact(args), strict=True):
            bound = tolerances.get(result.dtype, 0.0)
            wanted = exact.to(result.dtype)
            if result.shape != wanted.shape or not result.allclose(wanted, bound, bound, equal_nan=True):
                return False
    return True


def main() -> None:
    said = {
        (exercise.name, bug.who.rstrip(",")): [
            all(accepts(exercise, case, bug, tolerances) for case in ordinary(exercise))
            for tolerances in (KERNELBENCH, BACKENDBENCH)
        ]
        for exercise in EXERCISES.values()
        if isinstance(exercise, Exercise)
        for bug in exercise.wild
    }
    names = dict.fromkeys(name for name, _ in said)
    rows = [row(name, [one for (own, _), one in said.items() if own == name]) for name in names]
    rows = [*rows, row("**all**", list(said.values()))]
    which = [
        ", ".join(f"{who} ({name})" for (name, who), one in said.items() if one == both)
        for both in ([False, False], [False, True])
    ]
    values = {"draws": DRAWS, "date": date.today(), "torch": torch.__version__, "rows": "\n".join(rows)}
    page = Path(__file__).with_suffix(".md")
    page.write_text(ABOUT.format(refused=which[0], between=which[1], **values), encoding="utf-8")
    print(page.read_text(encoding="utf-8"))


def row(name: str, said: list[list[bool]]) -> str:
    kernel, backend = (sum(one) for one in zip(*said, strict=True))
    return f"| {name} | {len(said)} | {kernel} | {backend} |"


if __name__ == "__main__":
    main()
