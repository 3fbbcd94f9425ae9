"""Says what a graded notebook shows: the report below a check, notes on the submitted file, and the score that nbgrader
records.
"""

import html
import re
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.api import Gradebook
from nbgrader.preprocessors import GetGrades

from ...judge import Points, Verdict
from .points import handed_in_late
from .rebuild import RECORD, grade_id

REPORT = "application/vnd.graded-kernels.report+json"  # the report as data, for what counts a class's mistakes
SECOND = "It was made a second time, with nothing else being checked, and this is what came of that."
_CODE = re.compile(r"`([^`]+)`")


class NotGradable(Exception):
    """A check cell that cannot be graded; the message says why."""


def shown_verdict(verdict: Verdict, points: Points) -> list[NotebookNode]:
    """The report, with the points that were ``found`` in its data; before it a note where a limit had a say that a busy
    machine can break, too.
    """
    doubt = [notes_output([f"{verdict.doubted} {SECOND}"])] if verdict.doubt else []
    return [*doubt, shown(verdict.text, verdict.html, {REPORT: verdict.report_with(points)})]


def notes_of(answer: NotebookNode) -> list[NotebookNode]:
    """Returns what was wrong with the answer's cell in the submitted file."""
    notes = answer.metadata.get(RECORD, {}).get("notes", [])
    return [notes_output(notes)] if notes else []


def notes_output(sentences: list[str]) -> NotebookNode:
    """The sentences as a list; what stands in backticks becomes code."""
    items = [_CODE.sub(r"<code>\1</code>", html.escape(sentence)) for sentence in sentences]
    return shown("\n".join(sentences), "<ul>{}</ul>".format("".join(f"<li>{item}</li>" for item in items)))


def shown(text: str, rich: str, more: dict[str, Any] | None = None) -> NotebookNode:
    """An output with this text and HTML. more: further data by media type."""
    output: NotebookNode = new_output("display_data", {"text/html": rich, "text/plain": text, **(more or {})})
    return output


def result(score: float, points: float, costs: str) -> NotebookNode:
    """The output nbgrader reads the score from: the first ``execute_result``, its text a plain float. costs: HTML of
    what failures cost.
    """
    data = {"text/plain": repr(float(score)), "text/html": f"<b>{score:g} of {points:g} points</b>{costs}"}
    output: NotebookNode = new_output("execute_result", data, execution_count=None)
    return output


def why_not_graded(error: BaseException) -> str:
    """Why an answer could not be graded, to complete a sentence."""
    return str(error) if isinstance(error, NotGradable) else f"the check stopped with {type(error).__name__}"


def not_graded(error: BaseException) -> list[NotebookNode]:
    """An output on stderr: should nbgrader's own ``SaveAutoGrades`` ever read it, that is 0 points there."""
    text = f"This could not be graded: {why_not_graded(error)}. A person will look at it.\n"
    return [new_output("stream", name="stderr", text=text)]


class Scores(GetGrades):
    """nbgrader's own, which gives 0 points to what waits for a person: here that has no score."""

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """The notebook with its scores. For the page, ``waiting`` names the cells that have none, ``scored`` counts
        the others, and ``late`` says by how much it was late.
        """
        self._outdated, where = 0.0, resources["nbgrader"]
        where |= {"waiting": [], "scored": 0}
        nb, resources = super().preprocess(nb, resources)
        where["score"] -= self._outdated
        with Gradebook(where["db_url"]) as gradebook:
            where["late"] = handed_in_late(gradebook.find_submission(where["assignment"], where["student"]))
        return nb, resources

    def _get_score(self, cell: NotebookNode, resources: dict[str, Any]) -> None:
        super()._get_score(cell, resources)
        where, name = resources["nbgrader"], grade_id(cell)
        grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
        if grade.needs_manual_grade:
            where["waiting"].append(name)
            self._outdated += grade.score  # given by hand to what was there before
            cell.metadata.nbgrader["grade"] = False  # so that nbgrader's page shows no score
        else:
            where["scored"] += 1
