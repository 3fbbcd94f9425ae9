"""Exercises that were renamed: notebooks with the former name are graded as ever."""

import dataclasses

import nbformat
import pytest
from answers import answer
from graded_kernels.autograder import EXERCISES, check
from graded_kernels.autograder.check import check_answer
from graded_kernels.autograder.exercises import FORMER_NAMES, find, names_of
from graded_kernels.autograder.instructor.hidden import read_cases
from graded_kernels.autograder.nbgrader.checks import answer_to, learners_code
from graded_kernels.autograder.nbgrader.reading import Piece
from graded_kernels.autograder.nbgrader.rebuild import NOTES, RECORD, grade_id, rebuild
from graded_kernels.course import cells

FORMER = "linear_cross_entropy"
NAME = "linear_cross_entropy_forward_backward"


def chapter(name: str, answered: bool) -> nbformat.NotebookNode:
    """An answer cell and its check for the exercise under this name, after the answers that it builds on."""
    *before, own = answer(NAME, "torch").cells
    stub = f"def {NAME}(hidden, weight, labels, ignore_index=-100):\n    ..."
    built = [
        cells.setup("import torch"),
        *(cells.answer(cell.source, cell.name) for cell in before),
        cells.answer((own.source if answered else stub).replace(NAME, name), f"{name}-torch"),
        cells.check(name, "torch", 8),
    ]
    return nbformat.v4.new_notebook(cells=built)


def pieces(notebook: nbformat.NotebookNode) -> list[Piece]:
    return [Piece(cell.cell_type, cell.source, cell.id, grade_id(cell)) for cell in notebook.cells]


def first_cases_alone(monkeypatch):
    """One case is enough to see which function is called."""
    short = dataclasses.replace(EXERCISES[NAME], cases=EXERCISES[NAME].cases[:1], large=None)
    monkeypatch.setitem(EXERCISES, NAME, short)


def test_the_table_leads_from_names_that_are_free_to_names_that_are_not():
    assert FORMER_NAMES and set(FORMER_NAMES.values()) <= set(EXERCISES)
    assert not set(FORMER_NAMES) & set(EXERCISES)
    assert names_of(FORMER) == [FORMER, NAME] and names_of(NAME) == [NAME, FORMER] and names_of("axpy") == ["axpy"]


def test_a_check_cell_of_the_former_name_says_that_name(monkeypatch):
    first_cases_alone(monkeypatch)
    scope: dict = {}
    notebook = chapter(FORMER, answered=True)
    for cell in notebook.cells[:-1]:
        exec(cell.source, scope)
    report = eval(notebook.cells[-1].source, {"check": check, FORMER: scope[FORMER]})
    assert report.passed and report.exercise == FORMER and find(FORMER).signature.startswith(f"{FORMER}(")


@pytest.mark.parametrize("released, submitted", [(NAME, FORMER), (FORMER, FORMER), (FORMER, NAME)])
def test_a_notebook_of_another_release_is_graded(monkeypatch, released, submitted):
    first_cases_alone(monkeypatch)
    rebuilt = rebuild(chapter(released, answered=False), pieces(chapter(submitted, answered=True)))
    assert NOTES not in rebuilt.metadata.get(RECORD, {})  # neither missing, nor changed by the learner
    index = next(i for i, cell in enumerate(rebuilt.cells) if grade_id(cell) == f"{released}-torch-check")
    found, backend = answer_to(rebuilt, learners_code(rebuilt), index)
    report = check_answer(found, backend)
    assert report.passed and report.score == 1 and report.exercise == submitted


def test_an_answer_that_lost_its_grade_id_is_known_by_its_former_name():
    lost = [
        dataclasses.replace(p, id="", grade_id="") if FORMER in p.source else p for p in pieces(chapter(FORMER, True))
    ]
    rebuilt = rebuild(chapter(NAME, answered=False), lost)
    own = next(cell for cell in rebuilt.cells if grade_id(cell) == f"{NAME}-torch")
    assert f"def {FORMER}(" in own.source


def test_a_teachers_cases_may_have_either_name(tmp_path):
    file = tmp_path / "cases.toml"
    row = 'name = "{}"\nhidden = {{ fill = 1.0, shape = [2, 3] }}\nweight = {{ fill = 1.0, shape = [4, 3] }}\n'
    tables = [f"[[{name}]]\n" + row.format(name) + "labels = { values = [0, 3] }\n" for name in (FORMER, NAME)]
    file.write_text("\n".join(tables))
    assert [case.name for case in read_cases(file)[NAME]] == [f"hidden: {FORMER}", f"hidden: {NAME}"]
