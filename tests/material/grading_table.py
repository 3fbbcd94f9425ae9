"""Ten wrong answers with their points, in course/GRADING.md: ``python tests/material/grading_table.py`` runs them,
writes the table and prints it.
"""

import re

from answers import ROOT
from graded_kernels.autograder.judge import Report, Settings
from graded_kernels.autograder.judge.checking.check import check_answer
from wrong_answers import WRONG

GUIDE = ROOT / "course" / "GRADING.md"
BEGIN, END = "<!-- made by tests/material/grading_table.py -->\n", "<!-- end -->\n"
HEAD = "| the answer | exercise | points | what it costs |\n" + "|---" * 4 + "|\n"
CHOSEN = (
    ("silu_backward", "candle's y / x"),
    ("layer_norm_forward", "epsilon outside of the root (burn)"),
    ("silu_forward", "rounds to half at every step"),
    ("silu_forward", "no strides"),
    ("silu_forward", "hides NaN (`nan_to_num`)"),
    ("silu_forward", "raises for an empty tensor"),
    ("silu_forward", "writes into x, too"),
    ("silu_forward", "float32 for bfloat16"),
    ("cross_entropy_backward", "the other sign"),
    ("cross_entropy_forward", "no IndexError at all (Liger before 0.5.5)"),
)
EXAMPLES = [wrong for chosen in CHOSEN for wrong in WRONG if (wrong.exercise, wrong.what) == chosen]


def row(what: str, report: Report) -> str:
    """Of the table."""
    costs = ", ".join(f"{line.name} {line.points:g}" for line in report.costs if line.points)
    return f"| {what} | `{report.exercise}`, {report.backend} | {100 * report.score:.0f} | {costs} |\n"


if __name__ == "__main__":
    settings = {backend: Settings(backend, compiler=False) for backend in ("torch", "triton")}
    rows = [row(wrong.what, check_answer(wrong.answer, settings[wrong.backend])) for wrong in EXAMPLES]
    table = HEAD + "".join(rows)
    text = GUIDE.read_text(encoding="utf-8")
    made = re.sub(f"{BEGIN}.*{END}", lambda _: BEGIN + table + END, text, flags=re.DOTALL)
    GUIDE.write_text(made, encoding="utf-8")
    print(table)
