"""A disk that is really full, before nbgrader's run or in the middle of it: one sentence, and nothing is lost."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import full_disk
import pytest
from classroom import api, assert_success, copied, place, right_answers, scores
from graded_kernels.autograder.classroom.course import environment
from tampered import FULL

STUDENTS = ("a", "b", "c")
# In nbgrader_config.py: the disk is full once a's notebook is graded.
FILLS = """
import full_disk, pathlib
def fill(assignment, student, notebooks):
    if "/a/" in notebooks[0] and not pathlib.Path("freed").exists():
        full_disk.fill(pathlib.Path())
c.BaseConverter.post_convert_hook = fill
"""


@pytest.fixture(scope="module")
def calm(made_course, tmp_path_factory) -> Path:
    """A course that was graded in peace, with its verdicts."""
    course = copied(made_course, tmp_path_factory.mktemp("calm"))
    for student in STUDENTS:
        place(course, student).write_text(json.dumps(right_answers(course)))
    assert_success(api(course).autograde("tiny", "*"))
    return course


def autograde(course: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "nbgrader", "autograde", "tiny"]
    variables = environment() | {"PYTHONPATH": str(Path(__file__).parent)}
    return subprocess.run(command, cwd=course, env=variables, capture_output=True, text=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("when", ["before", "between"])
def test_a_full_disk_ends_a_run_in_a_sentence_and_costs_nothing(made_course, calm, tmp_path, when):
    if not full_disk.can_mount(tmp_path):
        pytest.skip(full_disk.NOT_HERE)
    with full_disk.mounted(tmp_path / "storm", 256) as storm:
        shutil.copytree(made_course, storm, symlinks=True, dirs_exist_ok=True)
        for name in ("submitted", "verdicts", "class_secret"):
            copy = shutil.copytree if (calm / name).is_dir() else shutil.copy
            copy(calm / name, storm / name)
        with open(storm / "nbgrader_config.py", "a") as config:
            config.write(FILLS)
        if when == "before":
            full_disk.fill(storm)
        ran = autograde(storm)
        assert ran.returncode == 1 and "Traceback" not in ran.stderr
        assert "Stopped: only 0 MB are free" in ran.stderr and "goes on from here" in ran.stderr
        assert list(storm.glob("autograded/*")) == ([storm / "autograded" / "a"] if when == "between" else [])
        (storm / full_disk.BALLAST).unlink()
        (storm / "freed").touch()
        again = autograde(storm)
        assert again.returncode == 0, again.stderr
        graded = 2 if when == "between" else 3
        assert f"{graded} graded" in again.stderr and "2 of 2 verdicts were there" in again.stderr
        assert [scores(storm, student) for student in STUDENTS] == [FULL] * 3 == [scores(calm, one) for one in STUDENTS]
