"""Grading through nbgrader itself: one course root, and one student for everything that a submitted notebook can be."""

import json
import os
import re
from pathlib import Path

import classroom
import grade_demo
import make_submissions
import pytest
from classroom import about, api, assert_success, autograded, copied, place, right_answers, scores, shown
from grade_demo import CHAPTER, hand_in
from graded_kernels.autograder.classroom.nbgrader.pages import REPORT
from tampered import FULL, IN_BOTH, TAMPERED, TORCH, UNREAD, WITNESS, WORDS

QUICK = {"right", "skip_tags", "edited_check", "deleted_answer", "lost_metadata", "magics", "hostile_message"}
QUICK |= {"torch_answer_in_tritons_cell", "not_python_in_torchs_cell", "words_in_a_cell_of_their_own"}
UNREADABLE = {"not_json", "empty_file", "not_text", "other_json", "deep_json", "no_cells", "too_much_code"}
UNREADABLE |= {"symbolic_link", "folder", "pipe", "huge_file"}
QUICK |= {"helper_after_what_fails", "what_failed_is_called", "answer_in_another_cell"}
QUICK |= UNREADABLE  # which cost nothing


@pytest.fixture(scope="module")
def course(made_course, tmp_path_factory) -> Path:
    return copied(made_course, tmp_path_factory.mktemp("nbgrader"))


# The chapter, with the submissions under tests/material/submissions


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
        assert path.read_text(encoding="utf-8") == text, (
            f"{path} is stale. Run: python tests/material/make_submissions.py"
        )


@pytest.mark.exhaustive
def test_right_gets_every_point(chapter):
    """Its notebook also overflows NumPy, prints to stderr and holds a magic."""
    hand_in(chapter, "right", make_submissions.path_of("right"))
    assert_success(api(chapter).autograde(CHAPTER, "right"))
    *checks, words = grade_demo.rows(chapter, "right")
    assert [row.points for row in checks] == [row.most for row in checks]
    assert len(checks) == 7
    assert words.cell == "silu_epsilon"  # it waits for a person
    assert words.points is None
    (experiment,) = (cell for cell in autograded(chapter, "right", CHAPTER).cells if cell.id == "added-1")
    assert "not Python and was left out: %timeit" in experiment.outputs[0].data["text/plain"]


@pytest.mark.exhaustive
def test_candle_loses_the_points_of_the_cases_it_fails(chapter):
    rows = {row.cell: row for row in grade_demo.rows(chapter, "candle")}
    wrong = {"silu_backward-torch", "silu_backward-triton"}
    assert {cell for cell, row in rows.items() if row.points != row.most} == wrong | {"silu_epsilon"}
    for cell in wrong:
        assert 0 < rows[cell].points < rows[cell].most
        assert rows[cell].why.startswith("exact zeros:")
        assert "huggingface/candle#2082" in rows[cell].why
    outputs = [output for cell in autograded(chapter, "candle", CHAPTER).cells for output in cell.get("outputs", [])]
    reports = [output.data[REPORT] for output in outputs if REPORT in output.get("data", {})]
    assert len(reports) == 7
    for report in reports:
        needed = [case["status"] for case in report["cases"] if not case["bonus"]]
        row = rows[f"{report['exercise']}-{report['backend']}"]
        share = needed.count("pass") / len(needed)
        assert row.points == round(row.most * (share if report["passed"] else min(share, 0.5)), 2)


@pytest.mark.exhaustive
def test_untouched_scores_nothing(chapter):
    rows = list(grade_demo.rows(chapter, "untouched"))
    assert [row.points for row in rows] == [0] * 8
    assert {row.why for row in rows} == {"not implemented yet", "no answer"}


@pytest.mark.exhaustive
def test_feedback_shows_the_report(chapter):
    assert_success(api(chapter).generate_feedback(CHAPTER, "candle"))
    page = (chapter / "feedback" / "candle" / CHAPTER / f"{CHAPTER}.html").read_text()
    assert 'class="graded-kernels fail"' in page
    assert "This is what candle" in page
    assert "of 4 points</b>" in page
    assert re.findall(r'<(?:script|img|link)[^>]*(?:src|href)="https?://[^"]*', page) == []


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
            (
                "lost_metadata",
                f"All cells have lost their ids. Answers were found by the names of their functions: `{WITNESS}`",
            ),
            ("answer_in_another_cell", f"The cell `{TORCH}` is as it was released. The cell that defines"),
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
    assert first.cell_type == "markdown"
    assert sentence in first.source


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
            (
                "what_failed_is_called",
                f"{TORCH}-check",
                "before, at `import pandas_of_tomorrow as pd`: Running the code",
            ),
            ("skip_tags", f"{TORCH}-check", "silu_forward (torch): not passed"),
        ],
        QUICK,
    ),
)
def test_feedback_in_its_cell(batch, student, cell, sentence):
    assert sentence in " ".join(shown(batch, student, cell).split())


@pytest.mark.parametrize("student", about(["right", "edited_demo", "renamed_ids", "other_version"], QUICK))
def test_the_released_notebook_is_rebuilt(batch, student):
    ours = ("about-this-submission", f"{WORDS}-guide")
    sources = [cell.source for cell in autograded(batch, student).cells if cell.id not in ours]
    assert sources == [cell["source"] for cell in right_answers(batch)["cells"]]


@pytest.mark.parametrize(
    "student, words", [("words_in_a_cell_of_their_own", "My answer."), ("lost_metadata", "In my own words.")]
)
def test_what_a_learner_wrote_is_kept(batch, student, words):
    assert words in [cell.source for cell in autograded(batch, student).cells]


@pytest.mark.parametrize(
    "student, heading, contents",
    about(
        [
            (
                "right",
                "tiny (Score so far: 4.0 / 7.0)",
                [f"{WITNESS} (Score: 2.0 / 2.0)", f"{TORCH} (Score: 2.0 / 2.0)", f"{WORDS} (waits for a person)"],
            ),
            ("no_cells", "tiny (not graded yet)", [f"{name} (waits for a person)" for name in FULL]),
        ],
        QUICK,
    ),
)
def test_contents_of_the_feedback(batch, student, heading, contents):
    """nbgrader's own say "Test cell" of each check, and 0.0 of what nobody has graded."""
    assert_success(api(batch).generate_feedback("tiny", student))
    page = (batch / "feedback" / student / "tiny" / "tiny.html").read_text()
    top, _, cells = page.partition('<div class="panel-body">')
    lines = [
        " ".join(re.sub("<[^>]*>", "", line).split()) for line in re.findall("(?s)<(?:h4|li)>.*?</(?:h4|li)>", top)
    ]
    assert [line for line in lines if not line.startswith("Comment on ")] == [heading, *contents]
    assert cells.count("Score: ") == sum("Score" in line for line in contents)


@pytest.mark.parametrize(
    "student, there",
    about([("hostile_message", "&lt;script&gt;alert(1)"), ("missing_picture", '<img alt="here"')], QUICK),
)
def test_feedback_page_of_an_odd_notebook(batch, student, there):
    assert_success(api(batch).generate_feedback("tiny", student))
    page = (batch / "feedback" / student / "tiny" / "tiny.html").read_text()
    assert there in page
    assert "<script>alert" not in page
    assert "\033" not in page
    assert '<html lang="en">' in page
    assert "summary { display: list-item" in page  # what can be opened shows it, which Bootstrap's style takes away
