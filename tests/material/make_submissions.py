"""Make the two submissions in ``tests/material/submissions/``: ``python tests/material/make_submissions.py [--check]``.

Both are the release notebook of a chapter, filled in: ``right`` with our own answers, ``candle`` with candle's
gradient, which divides y by x, in PyTorch and in Triton. They are committed, and made again when a chapter or an answer
changes.
"""

import argparse
import sys
from pathlib import Path

import nbformat
from graded_kernels.autograder.classroom.nbgrader.solution_marks import BEGIN, END
from graded_kernels.course.build import ROOT
from graded_kernels.course.learner import release

CHAPTER = "01_silu"
SOURCE = ROOT / "course" / "source" / CHAPTER / f"{CHAPTER}.ipynb"
FOLDER = Path(__file__).resolve().parent / "submissions"

# Numerical code warns, and learners try things out in IPython. Neither may cost a point.
EXPERIMENT = """\
import sys

import numpy as np

print("exp(1000) =", np.exp(np.float32(1000)), file=sys.stderr)
%timeit -n 1 -r 1 torch.exp(torch.zeros(1000))"""

RIGHT_WORDS = """\
y is 0 at x = 0, so y / (x + eps) is 0 there and the gradient is 0 instead of 1/2: a visible error is now a silent one.
The pole has only moved, to x = -eps, and all that is near it is far off. In float16, 1e-8 is 0 and nothing changes.
I would ask for s(x) to be computed from x, and for a test with zeros of both signs, subnormals and -eps."""

CANDLE_WORDS = "It cures it: with an epsilon in the denominator there is no NaN any more."

CANDLE_TORCH = '''\
def silu_backward(dy, x):
    """dx = dy · s(x) · (1 + x · s(-x)), elementwise."""
    v = x.float()
    y = v / (1 + torch.exp(-v))
    s = y / v  # y = x · s(x), so no second sigmoid is needed
    return (dy * (s * (1 + v * (1 - s)))).to(x.dtype)'''

RIGHT_LINE = "dx = silu_derivative_times(dy, x, dx_ptr.dtype.element_ty)"
CANDLE_LINES = """\
y = x / (1.0 + tl.exp(-x))
    s = y / x
    dx = dy * (s * (1.0 + x * (1.0 - s)))"""


def submission(answers: dict[str, str], experiment_before: str = "") -> str:
    """The release notebook with ``answers`` by grade id, as the text of its file."""
    notebook = nbformat.reads(release(SOURCE), as_version=4)
    for cell in notebook.cells:
        cell.source = answers.get(grade_id(cell), cell.source)
    at = [grade_id(cell) for cell in notebook.cells].index(experiment_before) if experiment_before else None
    if at is not None:
        notebook.cells.insert(at, nbformat.v4.new_code_cell(EXPERIMENT, id="experiment"))
    return nbformat.writes(notebook, version=4) + "\n"


def our_answers() -> dict[str, str]:
    """The source of every answer cell, by grade id, without the marks around what a learner must not see."""
    cells = nbformat.read(SOURCE, as_version=4).cells
    codes = [cell for cell in cells if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")]
    return {
        grade_id(cell): "\n".join(line for line in cell.source.split("\n") if line.strip() not in (BEGIN, END))
        for cell in codes
    }


def grade_id(cell) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def submissions() -> dict[str, str]:
    """Student -> the text of their notebook."""
    right = {**our_answers(), "silu_epsilon": RIGHT_WORDS}
    triton = right["silu_backward-triton"]
    assert triton.count(RIGHT_LINE) == 1, f"our Triton answer should have the line `{RIGHT_LINE}`"
    candle = {
        "silu_backward-torch": CANDLE_TORCH,
        "silu_backward-triton": triton.replace(RIGHT_LINE, CANDLE_LINES),
        "silu_epsilon": CANDLE_WORDS,
    }
    return {"right": submission(right, "silu_backward-torch"), "candle": submission({**right, **candle})}


def path_of(student: str) -> Path:
    return FOLDER / student / CHAPTER / f"{CHAPTER}.ipynb"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Make tests/material/submissions from the current chapter and answers."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a submission is stale")
    check, status = parser.parse_args(arguments).check, 0
    for student, text in submissions().items():
        path = path_of(student)
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        if check:
            print(f"{path.relative_to(ROOT)} is stale. Run: python tests/material/make_submissions.py")
            status = 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"made {path.relative_to(ROOT)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
