"""The table of wrong answers and their points in course/GRADING.md: ``python tests/material/grading_table.py`` runs
them, writes it and prints it.
"""

import re
from collections.abc import Iterable
from itertools import starmap

from answers import ROOT
from graded_kernels.autograder.judge.checking.check import check_answer
from graded_kernels.autograder.judge.records.settings import Settings
from graded_kernels.autograder.judge.report.report import Report
from marks import MARKED
from wrong_answers import WRONG, planted

GUIDE = ROOT / "course" / "GRADING.md"
BEGIN, END = "<!-- made by tests/material/grading_table.py -->\n", "<!-- end -->\n"
HEAD = "| the answer | exercise | points | what the others went for |\n" + "|---" * 4 + "|\n"
PLANTED = (  # mutants of ours, for the chapters of which the answers below say little
    ("ulp_distance", "torch", "-0 and 0 are 1 apart"),
    ("row_sum", "triton", "accumulates in the dtype of x"),
    ("gelu_forward", "torch", "ten times the cubic term"),
    ("gelu_forward", "torch", "NaN becomes 0"),
    ("attention_forward", "torch", "has a finite -inf"),
    ("attention_backward", "torch", "forgets delta"),
    ("merge_attention", "torch", "averages"),
    ("kl_forward", "torch", "hides NaN"),
    ("kl_backward", "torch", "subtracts 1 from e^r"),
    ("silu_function", "torch", "keeps x in the class"),
    ("rotary_forward", "torch", "has positions in the dtype of x"),
    ("gumbel_argmax", "torch", "clamps at the smallest float"),
    ("gemma_norm", "torch", "adds in the dtype of weight"),
    ("add_rms_norm", "triton", "rounds before the weight"),
)
OF_MARKED = {
    ("accumulation_weights", "mean of means"),
    ("accumulation_weights", "forgets the ranks"),
    ("accumulation_weights", "own rank's tokens only"),
    ("group_advantage", "right, eps forgotten"),
    ("policy_loss_forward", "clamp alone, no minimum"),
    ("bias_correction", "root forgotten"),
    ("adamw_step", "no decay"),
    ("clip_coefficient", "right, no ValueError"),
    ("router_witness", "two of three (without decay)"),
}
OTHERS = (*starmap(planted, PLANTED), *(one for one in MARKED if (one.exercise, one.what) in OF_MARKED))


def row(what: str, report: Report) -> str:
    """Of the table."""
    return f"| {what} | `{report.exercise}`, {report.backend} | {100 * report.score:.0f} | {reason(report)} |\n"


def reason(report: Report) -> str:
    """Where points were lost, and what limits the rest."""
    lost = ((part.aim, part.of - part.earned) for part in report.split)
    aims = ", ".join(f"{aim} {points:.0f}" for aim, points in lost if points >= 0.5)
    return " ".join(filter(None, (f"{aims}." if aims else "", report.limit)))


def reports() -> Iterable[tuple[str, Report]]:
    from graded_kernels.autograder.runner.sandbox import Worker

    with Worker() as worker:
        for wrong in (*OTHERS, *WRONG):
            settings = Settings(wrong.backend, compiler=False)
            yield wrong.what, check_answer(wrong.answer, settings, worker=worker if wrong.isolated else None)


if __name__ == "__main__":
    table = HEAD + "".join(row(what, report) for what, report in reports())
    text = GUIDE.read_text(encoding="utf-8")
    made = re.sub(f"{BEGIN}.*{END}", lambda _: BEGIN + table + END, text, flags=re.DOTALL)
    GUIDE.write_text(made, encoding="utf-8")
    print(table)
