"""A marking guide stands below a written answer for whoever marks it, and in nothing that a learner gets."""

import json
import re

import pytest
from classroom import api, assert_success, autograded, copied, grade, place, right_answers
from graded_kernels.course import learner
from graded_kernels.course.chapter import Question, parse
from tampered import WORDS

GUIDE = "Whatever is right."


@pytest.mark.exhaustive
def test_a_guide_is_in_the_graded_notebook_and_not_in_the_feedback(made_course, tmp_path):
    course = copied(made_course, tmp_path)
    grade(course, "a", right_answers(course))
    cells = autograded(course, "a").cells
    at = next(i for i, cell in enumerate(cells) if cell.metadata.get("nbgrader", {}).get("grade_id") == WORDS)
    assert GUIDE in cells[at + 1].source
    assert "Learners do not see it" in cells[at + 1].source
    assert_success(api(course).generate_feedback("tiny", "a"))
    page = (course / "feedback" / "a" / "tiny" / "tiny.html").read_text()
    assert "In my own words." in page
    assert GUIDE not in page
    assert "whoever marks" not in page
    assert GUIDE not in (course / "release" / "tiny" / "tiny.ipynb").read_text()


@pytest.mark.exhaustive
def test_without_the_line_that_takes_it_out_there_is_no_guide(made_course, tmp_path):
    """As in a configuration that is older than guides."""
    course = copied(made_course, tmp_path)
    place(course, "a").write_text(json.dumps(right_answers(course)))
    older = api(course)
    older.config.GenerateFeedback.preprocessors = ["nbgrader.preprocessors.GetGrades"]
    assert_success(older.autograde("tiny", "a"))
    assert not any(GUIDE in cell.source for cell in autograded(course, "a").cells)


# A teacher's sample answers, in course/ANSWERS.md

HEADING = re.compile(r"^## (?:`(\w+)`|Exam (\d+)): .* \((\d+) points.*\)$", re.MULTILINE)
POINTS = re.compile(r"^- (\d+) points?: ", re.MULTILINE)


@pytest.fixture(scope="module")
def sample():
    return (learner.ROOT / "course" / "ANSWERS.md").read_text(encoding="utf-8")


def test_each_question_has_a_sample_answer_with_its_points(sample):
    chapters = (learner.ROOT / "course" / "chapters").glob("*.md")
    pieces = [piece for path in chapters for piece in parse(path, path.read_text(encoding="utf-8"))]
    asked = [(piece.name, piece.points) for piece in pieces if isinstance(piece, Question)]
    assert sorted(asked) == sorted((name, int(points)) for name, _, points in HEADING.findall(sample) if name)


def test_the_points_of_each_marking_scheme_add_up(sample):
    _, *sections = re.split("^(?=## )", sample, flags=re.MULTILINE)
    headings = [HEADING.match(section) for section in sections]
    assert all(headings), sections
    wrong = [h[0] for h, s in zip(headings, sections, strict=True) if sum(map(int, POINTS.findall(s))) != int(h[3])]
    assert wrong == []
    exam = [(int(h[2]), int(h[3])) for h in headings if h[2]]
    assert len(exam) >= 20
    assert [number for number, _ in exam] == [*range(1, len(exam) + 1)]
    assert f"Together {sum(points for _, points in exam)} points" in sample


def test_no_sample_answer_is_given_to_a_learner(sample):
    lines = {line for line in sample.splitlines() if len(line) > 60}
    cells = [cell for source in learner.sources(learner.ROOT) for cell in json.loads(learner.release(source))["cells"]]
    given = "\n".join("".join(cell["source"]) for cell in cells)
    assert "In your own words" in given
    assert [line for line in lines if line in given] == []
    assert "ANSWERS.md" not in given


# README.md


def test_the_readme_has_the_hours_of_each_chapter():
    table = (learner.ROOT / "README.md").read_text(encoding="utf-8")
    for path in (learner.ROOT / "course" / "chapters").glob("*.md"):
        said = re.search(r"^\*Estimated: (.+) hours\.\*$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert re.search(
            rf"\({re.escape(f'course/chapters/{path.name}')}\) \|.*\| {said[1]} \|$", table, re.MULTILINE
        ), path
