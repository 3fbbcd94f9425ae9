"""A marking guide stands below a written answer for whoever marks it, and in nothing that a learner gets."""

import json

import pytest
from classroom import api, assert_success, autograded, copied, grade, place, right_answers
from tampered import WORDS

GUIDE = "Whatever is right."


@pytest.mark.exhaustive
def test_a_guide_is_in_the_graded_notebook_and_not_in_the_feedback(made_course, tmp_path):
    course = copied(made_course, tmp_path)
    grade(course, "a", right_answers(course))
    cells = autograded(course, "a").cells
    at = next(i for i, cell in enumerate(cells) if cell.metadata.get("nbgrader", {}).get("grade_id") == WORDS)
    assert GUIDE in cells[at + 1].source
    assert "which learners do not see" in cells[at + 1].source
    assert_success(api(course).generate_feedback("tiny", "a"))
    page = (course / "feedback" / "a" / "tiny" / "tiny.html").read_text()
    assert "In my own words." in page
    assert GUIDE not in page
    assert "Marking guide" not in page
    assert GUIDE not in (course / "release" / "tiny" / "tiny.ipynb").read_text()


@pytest.mark.exhaustive
def test_without_the_line_that_takes_it_out_of_the_feedback_there_is_no_guide(made_course, tmp_path):
    """As in a configuration that is older than guides."""
    course = copied(made_course, tmp_path)
    place(course, "a").write_text(json.dumps(right_answers(course)))
    older = api(course)
    older.config.GenerateFeedback.preprocessors = ["nbgrader.preprocessors.GetGrades"]
    assert_success(older.autograde("tiny", "a"))
    assert not any(GUIDE in cell.source for cell in autograded(course, "a").cells)
