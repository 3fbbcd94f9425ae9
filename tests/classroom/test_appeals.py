"""Appeals: what a learner asks in a notebook is listed, decided in the file of marks, and kept."""

import csv
import re
import shutil
from html import unescape

import nbformat
import pytest
from classroom import api, assert_success, copied, grade, right_answers, scores
from graded_kernels.autograder import cli
from graded_kernels.autograder.classroom import appeals
from graded_kernels.autograder.classroom.nbgrader.appeal_form import AppealForm, appeals_in
from graded_kernels.autograder.classroom.nbgrader.notebook_file import read
from graded_kernels.autograder.classroom.nbgrader.rebuild import NOTES, RECORD, rebuild
from graded_kernels.course.build import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.api import Gradebook
from tampered import FULL

CHECKED, WORDS = "silu_forward-torch", "silu_words"
REASON = "it is right at -0; I *tried* <b>it</b>."


def graded_cell(name: str, kind: str = "code", **flags: bool):
    new = new_code_cell if kind == "code" else new_markdown_cell
    metadata = {"grade_id": name, "grade": True, "solution": False, "locked": True, "points": 4, **flags}
    return new(f"# {name}", id=name, metadata={"nbgrader": metadata})


def notebook(*more):
    """A released notebook of a checked answer and a written one."""
    answer = new_code_cell("...", id="answer", metadata={"nbgrader": {"grade_id": CHECKED, "solution": True}})
    cells = [answer, graded_cell(f"{CHECKED}-check"), graded_cell(WORDS, "markdown", solution=True), *more]
    return AppealForm().preprocess(new_notebook(cells=cells), {})[0]


def ticked(text: str = REASON):
    """The same as a learner hands it in with an appeal."""
    asked = notebook()
    asked.cells[-1].source = asked.cells[-1].source.replace(f"[ ] `{CHECKED}`:", f"[x] `{CHECKED}`: {text}")
    return asked


def test_what_is_released_ends_with_a_line_for_each_answer_that_has_points():
    cells = notebook().cells
    assert cells[-1].cell_type == "markdown"
    assert cells[-1].source.endswith(f"\n\n- [ ] `{CHECKED}`:\n- [ ] `{WORDS}`:")
    assert [cell.id for cell in cells] == ["answer", f"{CHECKED}-check", WORDS, "appeals"]
    assert not AppealForm().preprocess(new_notebook(cells=[new_markdown_cell("Text.")]), {})[0].cells[1:]
    assert appeals_in(notebook()) == {}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"- [x] `{CHECKED}`: why", "why"),
        (f"* [X] {CHECKED} why", "why"),
        (f"[ x ] `{CHECKED}`:why\n  and more\n\n- [ ] `{WORDS}`:", "why and more"),
        (f"- [x] `{CHECKED}`:", ""),
        ("- [x] no_answer: why", None),
        (f"- [ ] {CHECKED}: try more warps", None),  # a list of things to do, in a cell of the learner's own
    ],
)
def test_a_line_that_asks_may_stand_in_a_cell_of_ones_own(line, reason):
    cell = new_markdown_cell(f"My notes\n\n{line}", metadata={RECORD: {"added": True}})
    assert appeals_in(notebook(cell)) == ({} if reason is None else {CHECKED: reason})


def test_in_the_form_a_reason_alone_asks():
    asked = notebook()
    asked.cells[-1].source = asked.cells[-1].source.replace(f"`{WORDS}`:", f"`{WORDS}`: read it again")
    assert appeals_in(asked) == {WORDS: "read it again"}


@pytest.mark.parametrize("ids", [True, False])
def test_a_form_that_was_filled_in_comes_through_and_moves_no_answer(tmp_path, ids):
    asked = ticked()
    if not ids:
        for cell in asked.cells:
            del cell["id"]
    asked.nbformat_minor = 5 if ids else 4
    (tmp_path / "tiny.ipynb").write_text(nbformat.writes(asked))
    pieces, _ = read(tmp_path / "tiny.ipynb", 1, 1)
    rebuilt = rebuild(notebook(), pieces)
    assert appeals_in(rebuilt) == {CHECKED: REASON}
    assert NOTES not in rebuilt.metadata.get(RECORD, {})
    assert [cell.source for cell in rebuilt.cells[:3]] == [cell.source for cell in notebook().cells[:3]]


@pytest.fixture
def course(tmp_path):
    """A course in which ada, who has 3 of 4 points, appeals, and bob does not."""
    shutil.copy(ROOT / "course" / "nbgrader_config.py", tmp_path)
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db") as gradebook:
        gradebook.add_assignment("tiny")
        gradebook.add_notebook("tiny", "tiny")
        for name, kind in ((f"{CHECKED}-check", "code"), (WORDS, "markdown")):
            gradebook.add_grade_cell(name, "tiny", "tiny", max_score=4, cell_type=kind)
            gradebook.add_solution_cell(name.removesuffix("-check"), "tiny", "tiny")
        for student, graded in {"ada": ticked(), "bob": notebook()}.items():
            gradebook.add_student(student)
            gradebook.add_submission("tiny", student)
            checked = gradebook.find_grade(f"{CHECKED}-check", "tiny", "tiny", student)
            checked.auto_score, checked.needs_manual_grade = 3.0, False
            gradebook.find_grade(WORDS, "tiny", "tiny", student).needs_manual_grade = True
            write(tmp_path / "autograded" / student / "tiny", graded)
        gradebook.db.commit()
    write(tmp_path / "release" / "tiny", notebook())
    return tmp_path


def write(folder, made):
    folder.mkdir(parents=True)
    nbformat.write(made, folder / "tiny.ipynb")


def row(course, student="ada"):
    assert cli.main(["marks", "tiny", "--course", str(course)]) == 0
    rows = csv.DictReader((course / "reports" / "tiny-marks.csv").read_text(encoding="utf-8-sig").splitlines())
    return next((row for row in rows if (row["student"], row["question"]) == (student, CHECKED)), None)


def read_back(course, points: str, comment: str) -> int:
    path = course / "mine.csv"
    path.write_text(f"student,question,points,comment\nada,{CHECKED},{points},{comment}\n")
    return cli.main(["marks", "tiny", "--read", str(path), "--course", str(course)])


def comment(course) -> str | None:
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        return gradebook.find_comment(CHECKED, "tiny", "tiny", "ada").manual_comment


def page(course) -> str:
    assert cli.main(["report", "tiny", "--course", str(course)]) == 0
    return (course / "reports" / "tiny.html").read_text()


def test_an_appeal_is_listed_with_the_answer_and_its_points(course):
    asked = row(course)
    assert (asked["points"], asked["of"], asked["automatic"], asked["appeal"]) == ("", "4", "3", REASON)
    assert asked["answer"] == "..."
    assert row(course, "bob") is None
    shown = page(course)
    assert "<h2>Appeals</h2>" in shown
    assert REASON in unescape(shown) and "<b>it</b>" not in shown
    assert "waits for a decision" in shown


@pytest.mark.parametrize(
    ("points", "decision"),
    [("4", "**Decision:** 4 of 4 points, 3 before. You are right."), ("", "**Decision:** 3 of 4 points, as before. ")],
)
def test_a_decision_has_its_points_and_its_reason_and_is_made_once(course, capsys, points, decision):
    assert read_back(course, points, "You are right.") == 0
    assert comment(course) == f"**You asked:** {REASON}\n\n{decision.removesuffix('You are right.')}You are right."
    assert "waits for a decision" not in page(course)
    capsys.readouterr()
    assert row(course)["comment"].startswith("**You asked:** ")
    written = course / "reports" / "tiny-marks.csv"
    assert cli.main(["marks", "tiny", "--read", str(written), "--course", str(course)]) == 0
    assert " 0 changes." in capsys.readouterr().out
    assert read_back(course, "2", "It rounds twice.") == 0
    assert comment(course) == "It rounds twice.", "a decision that is changed is as it was written"


def test_a_decision_without_a_reason_is_refused(course, capsys):
    assert read_back(course, "4", "") == 1
    assert f"mine.csv, line 2: ada appeals about {CHECKED}; write the reason of 4 points" in capsys.readouterr().err
    assert read_back(course, "", "") == 0
    assert comment(course) is None


def test_what_comes_after_the_due_date_is_read_for_its_appeals_alone(course, capsys):
    write(course / "appeals" / "bob" / "tiny", ticked("late"))
    write(course / "appeals" / "ada" / "tiny", notebook())
    assert row(course, "bob")["appeal"] == "late"
    assert row(course) is None, "it was taken back"
    (course / "appeals" / "bob" / "tiny" / "tiny.ipynb").write_text("{")
    capsys.readouterr()
    assert row(course, "bob") is None
    assert "appeals/bob/tiny/tiny.ipynb: the file is not a notebook: line 1 is not JSON" in capsys.readouterr().err
    assert appeals.APPEALS == "appeals"


def test_a_decision_is_in_the_feedback_and_outlives_a_regrade(made_course, tmp_path):
    course = copied(made_course, tmp_path)
    asked = right_answers(course)
    form = asked["cells"][-1]
    form["source"] = form["source"].replace(f"[ ] `{CHECKED}`:", f"[x] `{CHECKED}`: {REASON}")
    grade(course, "ada", asked)
    assert scores(course, "ada") == FULL
    assert read_back(course, "1", "It is ours.") == 0
    assert_success(api(course).autograde("tiny", "ada", force=True))
    assert_success(api(course).generate_feedback("tiny", "ada"))
    (feedback,) = (course / "feedback" / "ada").rglob("*.html")
    shown = " ".join(re.sub(r"<(style|svg).*?</\1>|<[^>]*>", " ", feedback.read_text(), flags=re.DOTALL).split())
    assert "You asked: it is right at -0; I tried it ." in shown
    assert "Decision: 1 of 2 points, 2 before. It is ours." in shown
    assert f"{CHECKED} (Score: 1.0 / 2.0)" in shown
