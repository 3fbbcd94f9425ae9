"""What a graded cell shows: the report, notes on the submitted file, and the score that nbgrader records."""

import html
import re

from nbformat import NotebookNode
from nbformat.v4 import new_output

from ..report.report import Report
from .rebuild import RECORD

REPORT = "application/vnd.graded-kernels.report+json"  # the report as data, for what counts a class's mistakes
LONGEST = 1_000_000  # characters of a report's HTML; an answer may raise an error with a message of any length
_CODE = re.compile(r"`([^`]+)`")


class NotGradable(Exception):
    """A check cell that cannot be graded; the message says why."""


def shown_report(report: Report) -> NotebookNode:
    text, rich = str(report), report._repr_html_()
    if len(rich) > LONGEST:
        text = text[: LONGEST // 10]
        rich = f"<pre>{html.escape(text)}</pre>"
    return shown(text, rich, {REPORT: _what_was_found(report)} if len(rich) <= LONGEST else {})


def notes_of(answer: NotebookNode) -> list[NotebookNode]:
    """What was wrong with the answer's cell in the submitted file."""
    notes = answer.metadata.get(RECORD, {}).get("notes", [])
    return [notes_output(notes)] if notes else []


def notes_output(sentences: list[str]) -> NotebookNode:
    items = [_CODE.sub(r"<code>\1</code>", html.escape(sentence)) for sentence in sentences]
    return shown("\n".join(sentences), "<ul>{}</ul>".format("".join(f"<li>{item}</li>" for item in items)))


def _what_was_found(report: Report) -> dict:
    """The report as data without what it cost: the same notebook, graded again, is the same file."""
    found = report.to_dict()
    for target in (found["compile"] or {}).get("targets", ()):
        del target["seconds"], target["cached"]
    return found


def shown(text: str, rich: str, more: dict | None = None) -> NotebookNode:
    return new_output("display_data", {"text/html": rich, "text/plain": text, **(more or {})})


def result(score: float, points: float) -> NotebookNode:
    """The output nbgrader reads the score from: the first ``execute_result``, its text a plain float."""
    data = {"text/plain": repr(float(score)), "text/html": f"<b>{score:g} of {points:g} points</b>"}
    return new_output("execute_result", data, execution_count=None)


def not_graded(error: BaseException) -> list[NotebookNode]:
    """On stderr: should nbgrader's own ``SaveAutoGrades`` ever read it, that is 0 points there."""
    reason = str(error) if isinstance(error, NotGradable) else f"the check stopped with {type(error).__name__}"
    return [
        new_output("stream", name="stderr", text=f"This could not be graded: {reason}. A person will look at it.\n")
    ]
