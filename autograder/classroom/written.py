"""The written answers of a class on one page, to be printed and marked on paper: question by question."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from nbformat import NotebookNode
from nbgrader.utils import compute_checksum

from .nbgrader.guides import GUIDE
from .nbgrader.markdown import safe_markdown
from .nbgrader.rebuild import RECORD, grade_id, is_added, is_question
from .page import as_page

STYLE = """
.answer { border: 1px solid var(--rule); padding: .2rem .8rem; margin: .6rem 0; break-inside: avoid; }
.answer img { max-width: 100%; } .answer pre, .answer code { overflow-wrap: anywhere; white-space: pre-wrap; }
.anchor-link { display: none; }
.points { float: right; border: 1px solid; min-width: 5.5rem; padding: .1rem .4rem; text-align: right; }
@media print { section + section { break-before: page; } }
"""


@dataclass
class Question:
    """asked: the text above the question; guide: how it is marked; answers: what each student wrote, as HTML, "" where
    that is nothing.
    """

    name: str
    points: float
    asked: str
    guide: str
    answers: list[tuple[str, str]] = field(default_factory=list)


def page(assignment: str, notebooks: Mapping[str, list[tuple[str, NotebookNode]]]) -> str:
    """The page. notebooks: the graded ones of each student."""
    questions: dict[str, Question] = {}
    for student, named in notebooks.items():
        for _, notebook in named:
            for question, answer in _questions(notebook):
                questions.setdefault(question.name, question).answers.append((student, answer))
    parts = [f"<h1>{escape(assignment)}: written answers</h1>", *map(_section, questions.values())]
    return as_page(f"{assignment}: written answers", parts, STYLE)


def _questions(notebook: NotebookNode) -> Iterator[tuple[Question, str]]:
    """Each question of a graded notebook, and the answer; with the texts that were added below it."""
    asked = ""
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown" and not is_question(cell) and not is_added(cell):
            asked = cell.source[cell.source.rfind("\n## ") + 1 :]
        if not is_question(cell):
            continue
        below, guide = [], ""
        for later in notebook.cells[index + 1 :]:
            if GUIDE in later.metadata.get(RECORD, {}):
                guide = _html(later)
            elif is_added(later):
                below.append(_html(later))
            else:
                break
        points = float(cell.metadata.nbgrader["points"])
        untouched = cell.metadata.nbgrader.get("checksum") == compute_checksum(cell)
        answer = "".join([*([] if untouched else [_html(cell)]), *below])
        yield Question(grade_id(cell), points, _html({"source": asked}), guide), answer


def _html(cell: Mapping[str, Any]) -> str:
    around: Any = {"cell": cell}  # what a template has there
    return safe_markdown(around, cell["source"])


def _section(question: Question) -> str:
    answers = [
        f'<div class="answer"><p><span class="points">/ {question.points:g}</span>'
        f"<b>{escape(student)}</b></p>{html}</div>"
        for student, html in question.answers
        if html
    ]
    nothing = ", ".join(escape(student) for student, html in question.answers if not html)
    answers += [f"<p>Nothing written: {nothing}</p>"] if nothing else []
    return f"<section><h2>{escape(question.name)}</h2>{question.asked}{question.guide}{''.join(answers)}</section>"
