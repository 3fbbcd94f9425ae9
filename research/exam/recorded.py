"""What checkers said of TritonBench when research/checkers/tritonbench.py ran them.

``python -m research.exam.recorded`` takes over the rows that have no result of the exam's own.
"""

import json

from .row import HERE, Row, chosen, read
from .said import Said, keep, kept
from .subject import Cannot

FILE = HERE.parent / "checkers" / "tritonbench.json"
SEED = 1
TAKEN_OVER = {"interpreter": "interpreter", "triton_viz": "triton-viz", "compute_sanitizer": "compute-sanitizer"}


def recorded(checker: str, row: Row) -> Said:
    """What a checker said, with the day and the processor time of that run. Raises Cannot."""
    for one in json.loads(FILE.read_text(encoding="utf-8")):
        if (f"tritonbench/{one['file']}", one["checker"], one["seed"]) == (row.name, TAKEN_OVER[checker], SEED):
            told = {"seconds": one["cpu"], "date": one["date"]}
            if one["ending"] == "program failed" and checker == "interpreter":
                return Said(row.name, True, says=f"raises {one['why']}", **told)
            if one["ending"] not in ("found", "clean"):
                return Said(row.name, cannot=f"{one['ending']}: {one['why']}".rstrip(": "), **told)
            kind = "memory" if "out-of-bounds" in one["kinds"] else ""
            return Said(row.name, one["ending"] == "found", kind, one["at"], **told)
    raise Cannot("not run: needs a GPU" if checker == "compute_sanitizer" else "not run")


def main() -> None:
    rows, _ = read()
    for checker in TAKEN_OVER:
        said = kept(checker)
        new = [row for row in chosen(rows, family="tritonbench") if row.name not in said]
        keep(checker, said | {row.name: recorded(checker, row) for row in new})
        print(f"{checker}: {len(new)} rows taken over")


if __name__ == "__main__":
    main()
