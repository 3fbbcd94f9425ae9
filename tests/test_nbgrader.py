"""Grading through nbgrader itself: one course root, and one student for everything that a submitted notebook can be."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import classroom
import grade_demo
import make_submissions
import nbformat
import pytest
from classroom import about, api, assert_success, autograded, copied, grade, place, right_answers, scores, shown
from grade_demo import CHAPTER, hand_in
from graded_kernels.autograder.check import check_answer
from graded_kernels.autograder.nbgrader import grade as grading
from graded_kernels.course import cells
from nbgrader.api import Gradebook
from tampered import FULL, IN_BOTH, NOTHING, TAMPERED, TORCH, UNREAD, WITNESS, WORDS, deleted_answer, helper_cells

QUICK = {"right", "skip_tags", "edited_check", "deleted_answer", "lost_metadata", "magics", "hostile_message"}
QUICK |= {"torch_answer_in_tritons_cell", "words_in_a_cell_of_their_own"}
UNREADABLE = {"not_json", "empty_file", "not_text", "other_json", "deep_json", "no_cells", "too_much_code"}
UNREADABLE |= {"symbolic_link", "folder", "pipe", "huge_file"}
QUICK |= UNREADABLE  # which cost nothing


@pytest.fixture(scope="module")
def course(made_course, tmp_path_factory) -> Path:
    return copied(made_course, tmp_path_factory.mktemp("nbgrader"))


# The chapter, with the submissions under tests/submissions


@pytest.fixture(scope="module")
def chapter(course) -> Path:
    hand_in(course, "candle", make_submissions.path_of("candle"))
    hand_in(course, "untouched", course / "release" / CHAPTER / f"{CHAPTER}.ipynb")
    with (course / "nbgrader_config.py").open("a") as file:
        file.write("\nc.Grade.seed = 1\n")  # what candle's bug costs hangs on the draw
    assert_success(api(course).autograde(CHAPTER, "*"))
    return course


def test_submissions_are_fresh():
    for student, text in make_submissions.submissions().items():
        path = make_submissions.path_of(student)
        assert path.read_text(encoding="utf-8") == text, f"{path} is stale. Run: python tests/make_submissions.py"


@pytest.mark.exhaustive
def test_right_gets_every_point(chapter):
    """Its notebook also overflows NumPy, prints to stderr and holds a magic."""
    hand_in(chapter, "right", make_submissions.path_of("right"))
    assert_success(api(chapter).autograde(CHAPTER, "right"))
    *checks, words = grade_demo.rows(chapter, "right")
    assert [row.points for row in checks] == [row.most for row in checks] and len(checks) == 7
    assert words.cell == "silu_epsilon" and words.points is None  # it waits for a person
    (experiment,) = (cell for cell in autograded(chapter, "right", CHAPTER).cells if cell.id == "added-1")
    assert "not Python and was left out: %timeit" in experiment.outputs[0].data["text/plain"]


def test_candle_loses_the_points_of_the_cases_it_fails(chapter):
    rows = {row.cell: row for row in grade_demo.rows(chapter, "candle")}
    wrong = {"silu_backward-torch", "silu_backward-triton"}
    assert {cell for cell, row in rows.items() if row.points != row.most} == wrong | {"silu_epsilon"}
    for cell in wrong:
        assert 0 < rows[cell].points < rows[cell].most
        assert rows[cell].why.startswith("exact zeros:") and "huggingface/candle#2082" in rows[cell].why
    outputs = [output for cell in autograded(chapter, "candle", CHAPTER).cells for output in cell.get("outputs", [])]
    reports = [output.data[grading.REPORT] for output in outputs if grading.REPORT in output.get("data", {})]
    assert len(reports) == 7
    for report in reports:
        needed = [case["status"] for case in report["cases"] if not case["bonus"]]
        row = rows[f"{report['exercise']}-{report['backend']}"]
        share = needed.count("pass") / len(needed)
        assert row.points == round(row.most * (share if report["passed"] else min(share, 0.5)), 2)


def test_untouched_scores_nothing(chapter):
    rows = list(grade_demo.rows(chapter, "untouched"))
    assert [row.points for row in rows] == [0] * 8
    assert {row.why for row in rows} == {"not implemented yet", "no answer"}


def test_feedback_shows_the_report(chapter):
    assert_success(api(chapter).generate_feedback(CHAPTER, "candle"))
    page = (chapter / "feedback" / "candle" / CHAPTER / f"{CHAPTER}.html").read_text()
    assert 'class="graded-kernels fail"' in page and "This is what candle" in page and "of 4 points</b>" in page
    # What the page loads from elsewhere is MathJax. Without a network formulas stay as typed, and all else is there.
    assert set(re.findall(r'<(?:script|img|link)[^>]*(?:src|href)="https?://([^/"]*)', page)) <= {
        "cdnjs.cloudflare.com"
    }


# Submitted files of every kind


@pytest.fixture(scope="module")
def batch(course, request) -> Path:
    """All that are asked for, graded in one run for each assignment."""
    wanted = classroom.asked_for(request)
    for assignment, tampers in (("tiny", TAMPERED), ("both", IN_BOTH)):
        for tamper in (tamper for tamper in tampers if tamper.__name__ in wanted):
            nb = right_answers(course, assignment)
            content = tamper(nb)
            content = json.dumps(nb).encode() if content is None else content
            place(course, tamper.__name__, assignment).write_bytes(content)
    place(course, "symbolic_link").symlink_to(place(course, "right"))
    place(course, "folder").mkdir()
    os.mkfifo(place(course, "pipe"))
    with place(course, "huge_file").open("wb") as file:
        file.truncate(60_000_000)
    for assignment in ("tiny", "both"):
        if any((course / "submitted").glob(f"*/{assignment}")):
            assert_success(api(course).autograde(assignment, "*"))
    return course


@pytest.mark.parametrize("tamper", about(TAMPERED, QUICK), ids=lambda tamper: tamper.__name__)
def test_score(batch, tamper):
    assert scores(batch, tamper.__name__) == TAMPERED[tamper]


@pytest.mark.parametrize(
    "tamper", about(IN_BOTH, QUICK - {"right", "lost_metadata"}), ids=lambda tamper: tamper.__name__
)
def test_score_where_two_answers_bear_one_name(batch, tamper):
    assert scores(batch, tamper.__name__, "both") == IN_BOTH[tamper]


@pytest.mark.parametrize(
    "student, reason",
    about(
        [
            ("symbolic_link", "is a symbolic link"),
            ("folder", "Is a directory"),
            ("pipe", "is not a file"),
            ("huge_file", "is 60 MB large"),
            ("empty_file", "is empty"),
            ("not_json", "line 1 is not JSON"),
            ("not_text", "is not text"),
            ("other_json", "no list of cells"),
            ("deep_json", "cannot be read"),
            ("no_cells", "without any cell"),
            ("too_much_code", "more than 1 MB of code"),
        ],
        QUICK,
    ),
)
def test_unreadable_file_says_why(batch, student, reason):
    assert scores(batch, student) == UNREAD
    assert reason in autograded(batch, student).cells[0].source


@pytest.mark.parametrize(
    "student, sentence",
    about(
        [
            ("deleted_answer", f"The cell `{TORCH}` is missing."),
            ("emptied_answer", f"The cell `{TORCH}` is empty."),
            ("copied_answer", f"The cell `{TORCH}` is there 2 times, copied or split."),
            ("lost_metadata", "The cell that defines `silu_forward` was taken for it."),
            ("lost_and_ambiguous", "2 cells define `silu_forward`. None was graded"),
            ("edited_check", f"The cell `{TORCH}-check` had been changed."),
            ("deleted_checks", f"The cell `{TORCH}-check` is missing. It was put back"),
            ("other_version", "made from another version of the chapter"),
        ],
        QUICK,
    ),
)
def test_note_on_the_submission(batch, student, sentence):
    first = autograded(batch, student).cells[0]
    assert first.cell_type == "markdown" and sentence in first.source


@pytest.mark.parametrize(
    "student, cell, sentence",
    about(
        [
            ("deleted_answer", f"{TORCH}-check", f"The cell `{TORCH}` is missing."),
            ("deleted_answer", f"{TORCH}-check", "not implemented yet"),
            ("emptied_answer", f"{TORCH}-check", "not implemented yet"),
            ("magics", TORCH, "Line 1 is not Python and was left out: %%time"),
            ("course_in_an_answer", f"{TORCH}-check", "imports graded_kernels"),
            ("null_byte", f"{TORCH}-check", "null bytes"),
            ("skip_tags", f"{TORCH}-check", "silu_forward (torch): not passed"),
        ],
        QUICK,
    ),
)
def test_feedback_in_its_cell(batch, student, cell, sentence):
    assert sentence in shown(batch, student, cell)


@pytest.mark.parametrize("student", about(["right", "edited_demo", "renamed_ids", "other_version"], QUICK))
def test_the_released_notebook_is_rebuilt(batch, student):
    sources = [cell.source for cell in autograded(batch, student).cells if cell.id != "about-this-submission"]
    assert sources == [cell["source"] for cell in right_answers(batch)["cells"]]


@pytest.mark.parametrize(
    "student, words", [("words_in_a_cell_of_their_own", "My answer."), ("lost_metadata", "In my own words.")]
)
def test_what_a_learner_wrote_is_kept(batch, student, words):
    assert words in [cell.source for cell in autograded(batch, student).cells]


@pytest.mark.parametrize(
    "student, there",
    about([("hostile_message", "&lt;script&gt;alert(1)"), ("missing_picture", '<img alt="here"')], QUICK),
)
def test_feedback_page_of_an_odd_notebook(batch, student, there):
    assert_success(api(batch).generate_feedback("tiny", student))
    page = (batch / "feedback" / student / "tiny" / "tiny.html").read_text()
    assert there in page and "<script>alert" not in page and "\033" not in page


# Grading again, and what fails


def test_second_submission_is_graded_anew(course):
    notebook = right_answers(course)
    grade(course, "twice", notebook)
    deleted_answer(notebook)
    grade(course, "twice", notebook)
    assert scores(course, "twice") == FULL | {TORCH: 0}


def test_no_old_score_outlives_a_run_that_fails(course, monkeypatch):
    """Nor one that fails before the notebook is read; what a person gave stays."""
    for student in ("stale", "staler"):
        grade(course, student, right_answers(course))
        assert scores(course, student) == FULL
        with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
            gradebook.find_grade(WORDS, "tiny", "tiny", student).manual_score = 2.5
            gradebook.find_comment(WORDS, "tiny", "tiny", student).manual_comment = "Well said."
            gradebook.db.commit()
    shutil.rmtree(course / "autograded" / "stale")
    (course / "autograded" / "stale").touch()  # nothing can be written there
    assert not api(course).autograde("tiny", "stale")["success"]

    def crash(*args):
        raise RuntimeError("planted")

    monkeypatch.setattr("graded_kernels.autograder.nbgrader.submission.rebuild", crash)
    assert not api(course).autograde("tiny", "staler")["success"]
    for student in ("stale", "staler"):
        assert scores(course, student) == dict.fromkeys(FULL)
        with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
            assert gradebook.find_grade(WORDS, "tiny", "tiny", student).score == 2.5
            assert gradebook.find_grade(f"{TORCH}-check", "tiny", "tiny", student).needs_manual_grade
            assert gradebook.find_comment(WORDS, "tiny", "tiny", student).comment == "Well said."


def test_a_check_that_crashes_is_left_to_a_person(course, monkeypatch):
    def crash_in_one(answer, backend, **options):
        if answer.exercise == "silu_witness":
            raise ZeroDivisionError("planted")
        return check_answer(answer, backend, **options)

    monkeypatch.setattr(grading, "check_answer", crash_in_one)
    grade(course, "unlucky", right_answers(course))
    assert scores(course, "unlucky") == FULL | {WITNESS: None}
    assert "could not be graded: the check stopped with ZeroDivisionError" in shown(
        course, "unlucky", f"{WITNESS}-check"
    )
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        assert gradebook.find_grade(f"{WITNESS}-check", "tiny", "tiny", "unlucky").needs_manual_grade


def test_a_check_of_no_answer_gets_no_score():
    """A test cell that a teacher added is never executed, and nbgrader would count a cell without output as right."""
    cell = cells.check("silu_forward", "torch", points=2)
    with pytest.raises(grading.NotGradable, match="silu_forward-torch-check"):
        grading.answer_to(nbformat.v4.new_notebook(cells=[cell]), {}, 0)


def test_a_renamed_notebook_keeps_nobody_else_from_a_grade(course):
    for student in ("first_renamed", "first_well"):
        grade(course, student, right_answers(course))
    notebook = place(course, "first_renamed")
    notebook.rename(notebook.with_name("tiny (1).ipynb"))
    place(course, "first_well").write_text((course / "release" / "tiny" / "tiny.ipynb").read_text())
    result = api(course).autograde("tiny", "first_*")
    assert "handed in as `tiny (1).ipynb`, not as `tiny.ipynb`" in result["log"]
    assert scores(course, "first_renamed") == UNREAD
    assert scores(course, "first_well") == NOTHING


def nest(folder: Path, levels: int, name: str) -> None:
    """``name/name/...`` in a folder. `os.makedirs` would recurse once a level."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=at)
        at, last = os.open(name, os.O_RDONLY, dir_fd=at), at
        os.close(last)
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


@pytest.mark.parametrize(
    ("levels", "name"),
    [(1300, "d"), pytest.param(60, "n" * 250, marks=pytest.mark.exhaustive)],
    ids=["many", "longer-than-a-path"],
)
def test_nested_folders_beside_a_notebook_are_left_out(course, levels, name):
    notebook = place(course, f"nested_{levels}")
    notebook.write_text(json.dumps(right_answers(course)))
    (notebook.parent / "data").mkdir()
    (notebook.parent / "data" / "numbers.csv").write_text("1,2,3")
    nest(notebook.parent, levels, name)
    try:
        result = api(course).autograde("tiny", f"nested_{levels}")
    finally:  # pytest's own removal recurses, too
        subprocess.run(["rm", "-rf", str(notebook.parent / name)], check=True)
    assert_success(result)
    assert scores(course, f"nested_{levels}") == FULL
    said = autograded(course, f"nested_{levels}").cells[0].source
    assert f"`{name[:60]}` lies beside the notebook and holds folders that are more than 10 deep." in said
    graded = course / "autograded" / f"nested_{levels}" / "tiny"
    assert (graded / "data" / "numbers.csv").exists() and not (graded / name).exists()


def test_without_the_released_notebook_nothing_is_lost(course):
    grade(course, "early", right_answers(course))
    released = course / "release" / "tiny" / "tiny.ipynb"
    away = released.rename(released.with_suffix(".away"))
    try:
        result = api(course).autograde("tiny", "early")
    finally:
        away.rename(released)
    assert not result["success"] and "nbgrader generate_assignment tiny --force" in result["log"]
    assert scores(course, "early") == FULL


def test_command_line(course):
    """The commands that a teacher types, in the course root."""
    notebook = right_answers(course)
    helper_cells(notebook)
    place(course, "typed").write_text(json.dumps(notebook))
    said = grade_demo.nbgrader(course, "autograde", "tiny", "--student=typed")
    assert "[1/1] typed, tiny: 4 of 4 points in " in said
