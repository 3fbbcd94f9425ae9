"""Runs of ``nbgrader autograde`` that do not end, or cannot begin: nothing is lost, nothing stale is kept."""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import classroom
import nbformat
import pytest
from attack_notebooks import batch
from attacks.table import USER
from classroom import api, assert_success, place, right_answers, scores
from tampered import FULL, UNREAD, deleted_answer

SET_CHILD_SUBREAPER = 36  # of Linux, for prctl: orphans become children of this process

STUDENTS = ("k1", "k2", "k3")


@pytest.fixture
def course(made_course, tmp_path) -> Path:
    made = classroom.copied(made_course, tmp_path)
    for student in STUDENTS:
        place(made, student).write_text(json.dumps(right_answers(made)))
    return made


def stopped(course: Path, line: str, number: int) -> str:
    """What a run said that got a signal as soon as it said ``line``."""
    log = ""
    with subprocess.Popen(
        [sys.executable, "-m", "nbgrader", "autograde", "tiny", "--debug"],
        cwd=course,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for one in process.stdout:
            log += one
            if line in one:
                process.send_signal(number)
    return log


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_is_taken_up_where_it_was(course, number):
    """Stopped in the second notebook, after it was rebuilt. The first is not graded again."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = set(batch.children())
    second = course / "autograded" / "k2" / "tiny" / "tiny.ipynb"
    log = stopped(course, f"Autograding {second}", number)
    _, first, after = log.partition("k1, tiny: 4 of 4 points")  # before it the run lists every submission
    assert first
    assert "k3" not in after
    assert scores(course, "k1") == FULL
    assert set(scores(course, "k2").values()) == {None}
    assert batch.left_processes(before) == []
    assert second.exists() == (number == signal.SIGKILL)

    result = api(course).autograde("tiny", "*", force=False)
    assert_success(result)
    assert "k1, tiny" not in result["log"]
    assert "[2/3" in result["log"]
    assert [scores(course, student) for student in STUDENTS] == [FULL] * 3
    for student in STUDENTS:
        graded = nbformat.read(course / "autograded" / student / "tiny" / "tiny.ipynb", as_version=4)
        assert "begun" not in graded.metadata.graded_kernels
    assert_success(api(course).autograde("tiny", "*", force=False))


@pytest.mark.exhaustive
def test_a_time_of_submission_counts_as_far_as_it_can_be_read(course):
    """A new one is graded again, for the points that lateness takes; one that cannot be read is as good as none."""
    notebook, time = place(course, "k1"), place(course, "k1").with_name("timestamp.txt")
    time.write_text("2026-01-01 10:00:00 UTC")
    assert_success(api(course).autograde("tiny", "k1", force=False))
    assert scores(course, "k1") == FULL
    assert "1 skipped, unchanged" in api(course).autograde("tiny", "k1", force=False)["log"]
    time.write_text("2026-01-02 10:00:00 UTC")
    assert "Summary: 1 graded" in api(course).autograde("tiny", "k1", force=False)["log"]
    changed = right_answers(course)
    deleted_answer(changed)
    notebook.write_text(json.dumps(changed))
    assert_success(api(course).autograde("tiny", "k1", force=False))
    assert scores(course, "k1") != FULL
    time.write_text("tomorrow")
    result = api(course).autograde("tiny", "k1", force=False)
    assert result["success"]
    assert "`timestamp.txt` holds no time that can be read" in result["log"]


@pytest.mark.exhaustive
@pytest.mark.skipif(os.getuid() != 0, reason="not run: only root can become an unprivileged user")
def test_a_course_that_cannot_be_written_is_not_graded(course, request):
    """nbgrader would find out at the end of the first notebook, and blame an upgrade."""
    try:
        start = batch.as_user()
    except RuntimeError as error:
        pytest.skip(str(error))
    folder = tempfile.TemporaryDirectory(prefix="course-")  # pytest's own are closed to others
    request.addfinalizer(folder.cleanup)
    course = Path(shutil.copytree(course, Path(folder.name, "course")))
    batch.give_away(Path(folder.name))
    unreadable = place(course, "k3")
    unreadable.chmod(0)

    def autograde() -> tuple[int, str]:
        ran = subprocess.run(
            [*start, "autograde", "tiny"],
            cwd=course,
            env={**os.environ, "HOME": str(course)},
            user=USER,
            group=USER,
            extra_groups=[],
            capture_output=True,
            text=True,
        )
        return ran.returncode, ran.stderr

    autograded = course / "autograded"
    autograded.mkdir()
    for path in (autograded, course / "gradebook.db"):
        os.chown(path, 0, 0)
        code, log = autograde()
        assert code == 1
        assert f"Nothing was graded: {path} cannot be written" in log
        assert "Traceback" not in log
        os.chown(path, USER, USER)
    os.chown(course / "submitted", 0, 0)  # what is handed in is only read
    code, log = autograde()
    assert code == 0, log[-3000:]
    assert "cannot be read: Permission denied" in log, log[-3000:]
    assert [scores(course, student) for student in STUDENTS] == [FULL, FULL, UNREAD]
