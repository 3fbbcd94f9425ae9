"""What nbgrader does once in a run and not for each notebook: it finds what it found before."""

import copy
import json
from pathlib import Path

import jsonschema
import nbformat
import nbgrader.api
import pytest
from classroom import api, assert_success, autograded, copied, place, right_answers, scores
from graded_kernels.autograder.nbgrader import rebuild
from graded_kernels.autograder.nbgrader.lookups import FINDING
from graded_kernels.autograder.nbgrader.reading import read
from graded_kernels.autograder.nbgrader.sparing import sparing
from nbgrader.api import Course, Gradebook, MissingEntry
from nbgrader.nbgraderformat import MetadataValidator
from sqlalchemy import event
from tampered import FULL


@pytest.fixture
def course(made_course, tmp_path):
    return copied(made_course, tmp_path)


@pytest.mark.parametrize(
    ("place_of_it", "name", "most"),
    [(nbgrader.api, "create_engine", 7), (type(nbgrader.api.Base.metadata), "create_all", 2)],
    ids=["engines", "looks for tables"],
)
def test_a_run_needs_as_many_for_two_notebooks_as_for_one(course, monkeypatch, place_of_it, name, most):
    made, make = [], getattr(place_of_it, name)

    def counted(*args, **options):
        made.append(args)
        return make(*args, **options)

    monkeypatch.setattr(place_of_it, name, counted)
    counts = []
    for student in ("a", "b"):
        place(course, student).write_text(json.dumps(right_answers(course)))
    for students in ("a", "*"):
        made.clear()
        assert_success(api(course).autograde("tiny", students, force=True))
        counts.append(len(made))
    assert counts[0] == counts[1] <= most
    assert scores(course, "a") == scores(course, "b") == FULL


def test_one_look_at_the_gradebook_ends_no_other(tmp_path):
    url, create_all = f"sqlite:///{tmp_path}/gradebook.db", nbgrader.api.Base.metadata.create_all
    with sparing(), Gradebook(url) as outer:
        outer.add_student("a")
        with Gradebook(url) as inner:
            assert inner.engine is outer.engine and [one.id for one in inner.students] == ["a"]
        outer.add_student("b")
        with Gradebook(f"sqlite:///{tmp_path}/another.db") as another:
            assert another.students == []
    with Gradebook(url) as later:
        assert later.engine is not outer.engine and sorted(one.id for one in later.students) == ["a", "b"]
    assert nbgrader.api.Base.metadata.create_all == create_all


@pytest.mark.parametrize("change", [{}, {"points": "two"}, {"points": -1}, {"grade": 1}, {"locked": None}, {"more": 1}])
def test_metadata_is_refused_as_nbgrader_refuses_it(course, change):
    notebook = right_answers(course)
    cell = next(cell for cell in notebook["cells"] if cell["metadata"].get("nbgrader", {}).get("points"))
    cell["metadata"]["nbgrader"].update(change)

    def found():
        try:
            MetadataValidator().validate_nb(nbformat.from_dict(notebook))
        except jsonschema.ValidationError as error:
            return str(error)
        return ""

    expected = found()
    with sparing():
        assert found() == expected
    assert bool(expected) == bool(change)


def test_rows_that_are_read_together_are_those_that_nbgrader_finds(course):
    for student in ("a", "b"):
        place(course, student).write_text(json.dumps(right_answers(course)))
    assert_success(api(course).autograde("tiny", "*"))
    url, where = f"sqlite:///{course}/gradebook.db", ("tiny", "tiny")
    with Gradebook(url) as gradebook:
        notebook, asked = gradebook.find_notebook(*where), []
        for student in ("a", "b"):
            asked += [("find_grade", (one.name, *where, student)) for one in notebook.grade_cells]
            asked += [("find_comment", (one.name, *where, student)) for one in notebook.solution_cells]
        asked += [("find_source_cell", (one.name, *where)) for one in notebook.source_cells]
        asked += [("find_graded_cell", (one.name, *where)) for one in notebook.grade_cells]
        expected = [getattr(gradebook, find)(*which).id for find, which in asked]
        assert {find for find, _ in asked} == set(FINDING)
    with sparing(), Gradebook(url) as gradebook:
        queries = []
        event.listen(gradebook.engine, "before_cursor_execute", lambda *given: queries.append(given[2]))
        assert [getattr(gradebook, find)(*which).id for find, which in asked] == expected
        assert len(queries) == 2 * 2 + 2
        with pytest.raises(MissingEntry):
            gradebook.find_grade("no such cell", *where, "a")
        with pytest.raises(MissingEntry):
            gradebook.find_source_cell(asked[-1][1][0], "tiny", "both")
        gradebook.find_grade(*asked[0][1]).auto_score = 0.25
        gradebook.db.commit()
    assert 0.25 in scores(course, "a").values() and 0.25 not in scores(course, "b").values()


def test_that_the_course_is_there_is_asked_once_for_each_database(tmp_path):
    asked = []
    with sparing():
        for name in ("one", "one", "two"):
            with Gradebook(f"sqlite:///{tmp_path}/{name}.db", "a course") as gradebook:
                event.listen(gradebook.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
                gradebook.check_course("a course")
                gradebook.check_course("another")
                assert len(gradebook.db.query(Course).all()) == 2
    inserted = [statement for statement in asked if statement.startswith("INSERT INTO course")]
    assert len(inserted) == 2
    assert sum("FROM course" in statement and "WHERE" in statement for statement in asked) == 2


def test_a_released_notebook_is_read_once_until_it_changes(course, monkeypatch):
    read, reads = [], nbformat.read
    monkeypatch.setattr(rebuild.nbformat, "read", lambda path, **how: read.append(Path(path)) or reads(path, **how))
    for student in ("a", "b"):
        place(course, student).write_text(json.dumps(right_answers(course)))
    released = course / "release" / "tiny" / "tiny.ipynb"
    read.clear()
    assert_success(api(course).autograde("tiny", "*"))
    assert read.count(released) <= 2  # once for the answers that are published
    notebook = reads(released, as_version=4)
    notebook.cells[0].source = "# Another title"
    nbformat.write(notebook, released)
    assert_success(api(course).autograde("tiny", "*", force=True))
    assert autograded(course, "b").cells[0].source == "# Another title"


def test_a_released_notebook_stays_as_it_is_for_the_next_submission(course):
    path = place(course, "a")
    changed = right_answers(course)
    changed["cells"][1]["source"] = "print(1)"
    changed["cells"].append(nbformat.v4.new_code_cell("x = 1"))
    path.write_text(json.dumps(changed))
    released = nbformat.read(course / "release" / "tiny" / "tiny.ipynb", as_version=4)
    before = copy.deepcopy(released)
    made = rebuild.rebuild(released, read(path, 50, 1), ["Another file was left out."])
    rebuild.without_submission(released, "It is empty.")
    assert released == before != made and len(made.cells) > len(released.cells)


def test_a_teachers_own_preprocessor_may_name_its_arguments(course):
    url, where = f"sqlite:///{course}/gradebook.db", {"notebook": "tiny", "assignment": "tiny"}
    place(course, "a").write_text(json.dumps(right_answers(course)))
    assert_success(api(course).autograde("tiny", "*"))
    with sparing(), Gradebook(url) as gradebook:
        assert gradebook.find_grade("tiny_words", student="a", **where).name == "tiny_words"
        assert gradebook.find_source_cell(name="tiny_words", **where).name == "tiny_words"
        assert gradebook.find_grade("tiny_words", "tiny", "tiny", "a").name == "tiny_words"
