"""A class as it is: renamed and copied files, wrong folders, broken uploads, re-submissions, names with commas. Nothing
is lost, nothing is graded as 0 that was not read, and a run says in a few lines what a teacher has to do.
"""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import classroom
import grade_demo
import pytest
from classroom import api, assert_success, autograded, give_by_hand, place, right_answers, scores
from graded_kernels.autograder.classroom.nbgrader.lock import FILE, Lock, Locked
from nbgrader.api import Gradebook
from tampered import FULL, TORCH, UNREAD, WORDS, ZEROS, find

TORCH_WRONG = FULL | {TORCH: 0}
NAMES = {  # student -> last and first name in the roster
    "comma": ("Smith, Jr.", 'Ann "Nan"'),
    "accents": ("Łukasiewicz-Müller", "Zoé"),
    "formula": ("=HYPERLINK(0)", "+1"),
    "absent": ("Never", "There"),
    "not_yet": ("Handed", "In"),
}


def released(course: Path) -> str:
    return (course / "release" / "tiny" / "tiny.ipynb").read_text()


def hand_in(course: Path) -> None:
    """The odd class, one student for each thing that can go wrong."""
    right = json.dumps(right_answers(course))
    for student in ("regular", "comma", "accents", "formula", "resubmits", "late_file"):
        place(course, student).write_text(right)
    place(course, "renamed").with_name("tiny (1).ipynb").write_text(right)
    place(course, "two_names").with_name("tiny (1).ipynb").write_text(right)
    place(course, "two_names").with_name("tiny_final.ipynb").write_text(right)
    place(course, "copy_filled").write_text(released(course))
    place(course, "copy_filled").with_name("tiny-Copy1.ipynb").write_text(right)
    place(course, "copy_untouched").write_text(right)
    place(course, "copy_untouched").with_name("tiny-Copy1.ipynb").write_text(released(course))
    wrong = right_answers(course)
    find(wrong, TORCH)["source"] = ZEROS
    place(course, "copy_other").write_text(right)
    place(course, "copy_other").with_name("tiny-Copy1.ipynb").write_text(json.dumps(wrong))
    place(course, "broken_and_copy").write_text(right[:1000])
    place(course, "broken_and_copy").with_name("tiny-Copy1.ipynb").write_text(right)
    place(course, "truncated").write_text(right[:1000])
    place(course, "conflict").write_text(f"<<<<<<< HEAD\n{right}\n=======\n{right}\n>>>>>>> theirs\n")
    place(course, "empty").write_bytes(b"")
    place(course, "utf16").write_text(right, encoding="utf-16")
    with place(course, "large").open("wb") as file:
        file.truncate(60_000_000)
    for folder, name in (
        ("wrong_folder/Tiny_", "tiny.ipynb"),
        ("tiny/swapped", "tiny.ipynb"),
        ("no_folder", "tiny.ipynb"),
        ("nested/tiny/tiny", "tiny.ipynb"),
        ("unclear", "homework.ipynb"),
    ):
        path = course / "submitted" / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(right)
    (course / "submitted" / "regular" / "tiny" / ".ipynb_checkpoints").mkdir()
    (course / "submitted" / "regular" / "tiny" / ".ipynb_checkpoints" / "tiny-checkpoint.ipynb").write_text(right)


@pytest.fixture(scope="module")
def course(made_course, tmp_path_factory) -> Path:
    course = classroom.copied(made_course, tmp_path_factory.mktemp("class"))
    hand_in(course)
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        for student, (last, first) in NAMES.items():
            gradebook.add_student(student, last_name=last, first_name=first)
    for path in (course, *course.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return course


@pytest.fixture(scope="module")
def output(course) -> str:
    """What the first run prints."""
    return grade_demo.nbgrader(course, "autograde", "tiny")


@pytest.fixture(scope="module")
def lines(output) -> list[str]:
    return [re.sub(r"^\[.*?\] ", "", line).strip() for line in output.splitlines()]


def about(lines: list[str], student: str) -> str:
    """The line of the summary about a submission."""
    first, last = (next(n for n, one in enumerate(lines) if one.startswith(t)) for t in ("Summary: ", "The published"))
    begins = (f"{student}, ", f"submitted/{student}/", f"submitted/tiny/{student}/")
    found = [line for line in lines[first:last] if line.startswith(begins)]
    assert len(found) == 1, (student, found)
    return found[0]


@pytest.mark.parametrize("student", ["regular", "comma", "accents", "formula", "copy_untouched", "copy_other"])
def test_what_was_read_is_graded(course, output, student):
    assert scores(course, student) == FULL


@pytest.mark.parametrize(
    ("student", "sentence"),
    [
        ("renamed", "handed in as `tiny (1).ipynb`, not as `tiny.ipynb`. It was not read."),
        ("two_names", "handed in as `tiny (1).ipynb` and `tiny_final.ipynb`, not as"),
        ("copy_filled", "`tiny.ipynb` is as it was released, and `tiny-Copy1.ipynb` beside it was not read."),
        ("broken_and_copy", "`tiny.ipynb` cannot be read, and `tiny-Copy1.ipynb` beside it was not read."),
        ("truncated", "is not JSON"),
        ("conflict", "line 1 is not JSON"),
        ("empty", "The submitted file is empty."),
        ("utf16", "it is not text"),
        ("large", "is 60 MB large"),
    ],
)
def test_what_was_not_read_waits_for_a_person(course, lines, student, sentence):
    assert scores(course, student) == UNREAD
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        assert all(g.needs_manual_grade for g in gradebook.find_submission_notebook("tiny", "tiny", student).grades)
    assert sentence in about(lines, student)
    assert sentence in autograded(course, student).cells[0].source
    assert f"{student}, tiny: not graded, waits for a person" in "\n".join(lines)


def test_other_answers_beside_the_graded_ones_are_named(lines):
    assert "`tiny-Copy1.ipynb` beside it, with other answers, was not read." in about(lines, "copy_other")
    assert not [line for line in lines if line.startswith("copy_untouched, ") and "Copy1" in line]


@pytest.mark.parametrize(
    ("student", "to"),
    [("wrong_folder", "wrong_folder"), ("swapped", "swapped"), ("no_folder", "no_folder"), ("nested", "nested")],
)
def test_a_notebook_in_a_wrong_folder_is_listed_with_its_cure(lines, student, to):
    assert about(lines, student).endswith(f"submitted/{to}/tiny/tiny.ipynb")
    assert " mv -n " in about(lines, student)


def test_a_notebook_of_no_assignment_is_listed(lines):
    assert "it is not clear which assignment" in about(lines, "unclear")
    assert not [line for line in lines if "checkpoint" in line]


def test_a_run_says_one_line_a_notebook_and_a_summary(output, lines):
    assert "Warning" not in output
    assert "Traceback" not in output
    assert "SAWarning" not in output
    at = next(number for number, line in enumerate(lines) if line.startswith("Summary: "))
    assert at <= 17 + 3, lines[:at]  # 17 notebooks, a folder without one, and that files were open to others
    assert lines[at] == "Summary: 8 graded, 9 for a person, 8 written answers to grade by hand."


def test_the_files_of_a_class_are_closed_to_others(course, output):
    closed = ("submitted", "autograded", "feedback", "source", "gradebook.db", "class_secret")
    assert [name for name in closed if (course / name).stat().st_mode & 0o077] == []
    assert "Other accounts could read submitted, source, gradebook.db. Now they cannot." in output


def exported(course: Path) -> dict[str, dict[str, str]]:
    grade_demo.nbgrader(course, "export", "--to=grades.csv", "--assignment=['tiny']")
    with open(course / "grades.csv", newline="", encoding="utf-8-sig") as file:
        return {row["student_id"]: row for row in csv.DictReader(file)}


def test_the_table_of_grades(course, output):
    place(course, "not_yet").write_text(released(course))
    rows = exported(course)
    place(course, "not_yet").unlink()
    assert all(None not in row and None not in row.values() for row in rows.values())  # as many fields as columns
    assert rows["comma"]["last_name"] == "Smith, Jr."
    assert rows["accents"]["last_name"] == "Łukasiewicz-Müller"
    assert rows["formula"]["last_name"] == "'=HYPERLINK(0)"
    assert rows["formula"]["first_name"] == "'+1"
    shown = ("status", "waiting", "raw_score", "score")
    assert [rows["regular"][name] for name in shown] == ["waits for a person", "3.0", "4.0", ""]
    assert [rows["empty"][name] for name in shown] == ["waits for a person", "7.0", "", ""]
    assert [rows["absent"][name] for name in shown] == ["never handed in", "", "", ""]
    assert [rows["not_yet"][name] for name in shown] == ["not graded yet", "", "", ""]
    assert not [row for row in rows.values() if row["score"] == "0.0"]


def test_a_resubmission_is_graded_and_what_a_person_gave_is_kept(course, output):
    """Without any time of submission; then with one where there was none; and a file that was renamed as advised."""
    give_by_hand(course, "resubmits", **{WORDS: 2.5})
    changed = right_answers(course)
    find(changed, TORCH)["source"] = ZEROS
    place(course, "resubmits").write_text(json.dumps(changed))
    place(course, "late_file").with_name("timestamp.txt").write_text("2026-01-02 10:00:00 UTC")
    renamed = place(course, "renamed")
    renamed.with_name("tiny (1).ipynb").rename(renamed)
    log = api(course).autograde("tiny", "*", force=False)["log"]
    assert scores(course, "resubmits") == TORCH_WRONG
    assert scores(course, "renamed") == FULL
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        assert gradebook.find_grade(WORDS, "tiny", "tiny", "resubmits").score == 2.5
        assert gradebook.find_submission("tiny", "late_file").timestamp.year == 2026
    skipped = "14 skipped, unchanged since they were graded (14 with something to grade by hand)"
    assert f"Summary: 3 graded, 0 for a person, {skipped}" in log


# Two runs at once, and one that is stopped


def waited_for(path: Path) -> bool:
    """Whether something is there, as soon as it is; by then the submission before is done."""
    return any(path.exists() or time.sleep(0.05) for _ in range(12_000))


def autograde(course: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "nbgrader", "autograde", "both", "--force"],
        cwd=course,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.mark.exhaustive
def test_a_second_run_is_refused_and_ctrl_c_is_one_sentence(course):
    for student in ("a", "b", "c"):
        place(course, student, "both").write_text(json.dumps(right_answers(course, "both")))
    slow = right_answers(course, "both")
    find(slow, TORCH)["source"] = "def silu_forward(x):\n    __import__('time').sleep(600)"
    place(course, "b", "both").write_text(json.dumps(slow))
    with autograde(course) as first:
        lines = []
        for line in first.stdout:
            lines.append(line)
            if "] a, both: " not in line:
                continue
            try:
                result = api(course).autograde("both", "*")
                assert waited_for(course / "autograded" / "b" / "both")
            finally:
                os.killpg(first.pid, signal.SIGINT)  # as a terminal does, to every process of the run
    assert not result["success"]
    assert f"Nothing was graded: another grading run is at work in this course (process {first.pid} of" in result["log"]
    text = "".join(lines)
    assert first.returncode == 130
    assert "Traceback" not in text
    assert "KeyboardInterrupt" not in text
    assert "Summary: 1 graded" in text
    assert lines[-1].endswith("Stopped. What was graded is kept; the same command goes on from here.\n")
    place(course, "b", "both").write_text(json.dumps(right_answers(course, "both")))
    result = api(course).autograde("both", "*", force=False)
    assert_success(result)
    assert "a, both: " not in result["log"]
    assert "c, both: 6 of 6 points" in result["log"]


def test_a_lock_goes_with_its_process(tmp_path):
    code = "from graded_kernels.autograder.classroom.nbgrader.lock import Lock; from pathlib import Path; import time\n"
    code += f"with Lock(Path({str(tmp_path)!r})): print('held', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "held\n"
            with pytest.raises(Locked, match=f"process {process.pid} of .* since 20"), Lock(tmp_path):
                pass
        finally:
            process.kill()
    with Lock(tmp_path):
        assert str(os.getpid()) in (tmp_path / FILE).read_text()
    assert (tmp_path / FILE).read_text() == ""
