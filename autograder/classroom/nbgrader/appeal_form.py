"""Appeals in a notebook: a line of Markdown with a tick, the name of an answer and a sentence,

    - [x] `silu_forward-torch`: it is right at -0, since ...

in the last cell of what is released, or in a cell that the learner added.
"""

import re
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade

from .by_hand import CHECK
from .rebuild import FORM, RECORD, grade_id, is_added, is_form

TEXT = """## Appeals

If points are wrong, put an `x` between the brackets, write why behind the colon, and hand the notebook in again. A
person decides; the decision and its reason are in the feedback. After the due date nothing else in it is read.
"""
LONGEST = 500  # characters of a reason that are kept
_LINE = re.compile(r"[ \t]*[-*+]?[ \t]*\[[ \t]*([xX]?)[ \t]*\][ \t]*`?([\w.-]+)`?[ \t]*:?(.*)")


class AppealForm(NbGraderPreprocessor):
    """The last of ``GenerateAssignment``: adds the cell."""

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """The notebook with the form behind its last cell, a line for each answer with points; none where none has."""
        if names := answers_with_points(nb):
            lines = "\n".join(f"- [ ] `{name}`:" for name in names)
            nb.cells.append(new_markdown_cell(f"{TEXT}\n{lines}", id=FORM, metadata={RECORD: {FORM: True}}))
        return nb, resources


def answers_with_points(notebook: NotebookNode) -> list[str]:
    """The names of the answers that get points, in their order: ``silu_forward-torch``, ``silu_epsilon``."""
    return [grade_id(cell).removesuffix(CHECK) for cell in notebook.cells if is_grade(cell)]


def appeals_in(notebook: NotebookNode) -> dict[str, str]:
    """The reason of each appeal by the name of its answer, "" where none is written. A line of the form that has a
    reason and no tick counts, too.
    """
    appeals: dict[str, str] = {}
    names = answers_with_points(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (is_form(cell) or is_added(cell)):
            for ticked, name, reason in _lines(cell.source):
                if name in names and (ticked or (reason and is_form(cell))):
                    appeals[name] = reason[:LONGEST]
    return appeals


def _lines(source: str) -> list[tuple[bool, str, str]]:
    """The lines of a form: whether each is ticked, its name, and its reason, which may go on in the next lines."""
    lines: list[tuple[bool, str, str]] = []
    for text in source.splitlines():
        if match := _LINE.fullmatch(text):
            lines.append((bool(match[1]), match[2], match[3].strip()))
        elif lines:
            ticked, name, reason = lines[-1]
            lines[-1] = ticked, name, f"{reason} {text.strip()}".strip()
    return lines
