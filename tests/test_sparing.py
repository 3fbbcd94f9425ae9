"""What nbgrader does once in a run and not for each notebook: it finds what it found before."""

import json

import jsonschema
import nbformat
import nbgrader.api
import pytest
from classroom import api, assert_success, copied, place, right_answers, scores
from graded_kernels.autograder.nbgrader.sparing import sparing
from nbgrader.api import Gradebook
from nbgrader.nbgraderformat import MetadataValidator
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
