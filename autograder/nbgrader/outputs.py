"""What a graded cell shows: the report, notes on the submitted file, and the score that nbgrader records."""

import html
import re
import textwrap
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output

from ..report.notebook import split
from ..results.data import plain
from ..results.points import Points
from ..verdicts.verdict import LATE, LOST, Verdict
from .rebuild import RECORD

REPORT = "application/vnd.graded-kernels.report+json"  # the report as data, for what counts a class's mistakes
DOUBTS = {LATE: "A time limit ended this check.", LOST: "The process that runs answers ended during this check."}
SECOND = "It was made a second time, with nothing else being checked, and this is what came of that."
_CODE = re.compile(r"`([^`]+)`")


class NotGradable(Exception):
    """A check cell that cannot be graded; the message says why."""


def shown_verdict(verdict: Verdict, found: Points) -> list[NotebookNode]:
    """The report, with the points that were ``found`` in its data; before it a note where a limit had a say that a busy
    machine can break, too.
    """
    doubt = [notes_output([f"{DOUBTS[verdict.doubt]} {SECOND}"])] if verdict.doubt else []
    report = (verdict.report or {}) | plain({"score": found.score, "split": found.parts, "limit": found.limit})
    return [*doubt, shown(verdict.text, verdict.html, {REPORT: report})]


def beginning(source: str) -> str:
    """A sentence that shows a cell's first line: the learner never saw the name of a cell that the file gave none."""
    line = textwrap.shorten(source.strip().partition("\n")[0].replace("`", "'"), 60, placeholder=" ...")
    return f" It begins with `{line}`." if line else ""


def notes_of(answer: NotebookNode) -> list[NotebookNode]:
    """What was wrong with the answer's cell in the submitted file."""
    notes = answer.metadata.get(RECORD, {}).get("notes", [])
    return [notes_output(notes)] if notes else []


def notes_output(sentences: list[str]) -> NotebookNode:
    items = [_CODE.sub(r"<code>\1</code>", html.escape(sentence)) for sentence in sentences]
    return shown("\n".join(sentences), "<ul>{}</ul>".format("".join(f"<li>{item}</li>" for item in items)))


def shown(text: str, rich: str, more: dict[str, Any] | None = None) -> NotebookNode:
    output: NotebookNode = new_output("display_data", {"text/html": rich, "text/plain": text, **(more or {})})
    return output


def result(score: float, points: float, found: Points) -> NotebookNode:
    """The output nbgrader reads the score from: the first ``execute_result``, its text a plain float."""
    data = {"text/plain": repr(float(score)), "text/html": f"<b>{score:g} of {points:g} points</b>{split(found)}"}
    output: NotebookNode = new_output("execute_result", data, execution_count=None)
    return output


def why_not_graded(error: BaseException) -> str:
    return str(error) if isinstance(error, NotGradable) else f"the check stopped with {type(error).__name__}"


def not_graded(error: BaseException) -> list[NotebookNode]:
    """An output on stderr: should nbgrader's own ``SaveAutoGrades`` ever read it, that is 0 points there."""
    text = f"This could not be graded: {why_not_graded(error)}. A person will look at it.\n"
    return [new_output("stream", name="stderr", text=text)]
