"""nbgrader's gradebook and its check of cells, made ready once for a run."""

import contextlib
import os
import sqlite3
from pathlib import Path

import nbformat
import pytest
from graded_kernels.autograder.classroom.nbgrader.gradebooks import CheckCells, ready_once
from nbgrader import api
from nbgrader.api import Gradebook
from nbgrader.nbgraderformat import ValidationError


@pytest.fixture
def looked_up(monkeypatch) -> list[object]:
    """An entry for each time that the tables of a gradebook are looked for."""
    found, inspect = [], api.inspect
    monkeypatch.setattr(api, "inspect", lambda engine: (found.append(engine), inspect(engine))[1])
    return found


def test_tables_are_looked_for_once_in_a_run(tmp_path, looked_up):
    address = f"sqlite:///{tmp_path}/gradebook.db"
    for books in (1, 2):  # another run, for which another program may have put the gradebook away
        with ready_once():
            for student in range(3):
                with Gradebook(address, "a course") as book:
                    book.update_or_create_student(f"s{books}{student}")
        assert len(looked_up) == books
    with Gradebook(address, "a course") as book:
        assert sorted(student.id for student in book.students) == ["s10", "s11", "s12", "s20", "s21", "s22"]
        assert book.course_id == "a course"
    assert len(looked_up) == 3


def test_other_programs_see_and_are_seen_between_two_steps(tmp_path):
    path = tmp_path / "gradebook.db"
    address = f"sqlite:///{path}"

    def seen() -> list[str]:
        with contextlib.closing(sqlite3.connect(path, timeout=0)) as other:
            return [name for (name,) in other.execute("select id from student order by id")]

    with ready_once():
        for name in ("ada", "bob"):
            with Gradebook(address) as book:
                book.add_student(name)
        assert seen() == ["ada", "bob"]
        with Gradebook(address) as book:
            book.find_student("ada").last_name = "forgotten"  # not committed
        with contextlib.closing(sqlite3.connect(path, timeout=0)) as other:
            other.execute("update student set first_name = 'Grace' where id = 'bob'")
            other.commit()
        with Gradebook(address) as book:
            assert (book.find_student("ada").last_name, book.find_student("bob").first_name) == (None, "Grace")
        assert not [file for file in Path("/proc/self/fd").iterdir() if os.path.realpath(file) == str(path)]


def test_cells_that_nbgrader_cannot_work_with_are_refused_every_time():
    cell = nbformat.v4.new_code_cell("")
    notebook = nbformat.v4.new_notebook(cells=[cell])
    right = {"schema_version": 3, "grade": False, "solution": True, "locked": False, "grade_id": "a"}
    for metadata, wrong in ((right, False), (right, False), (right | {"grade_id": "?"}, True)):
        cell.metadata.nbgrader = metadata
        for _ in range(2):
            with pytest.raises(ValidationError) if wrong else contextlib.nullcontext():
                CheckCells().preprocess(notebook, {})
