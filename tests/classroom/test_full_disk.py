"""A disk that is really full, before nbgrader's run or in the middle of it: one sentence, and nothing is lost."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import full_disk
import pytest
from classroom import api, assert_success, copied, place, right_answers, scores
from graded_kernels.autograder.classroom.nbgrader import disk
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError
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
# There, too: the disk of the gradebook is full when a step of b's begins.
FILLS_AT = """
import full_disk, importlib, os, pathlib
place, _, name = os.environ.get("AT", "os.path").rpartition(".")
place = importlib.import_module(place) if place.islower() else getattr(*[
    f(place.rpartition(".")[i]) for f, i in ((importlib.import_module, 0), (str, 2))])
step, calls = getattr(place, name), []
def stepped(*args, **options):
    calls.append(args)
    if len(calls) == int(os.environ["CALL"]):
        full_disk.fill(pathlib.Path(c.CourseDirectory.db_url.removeprefix("sqlite:///")).parent)
    return step(*args, **options)
if "AT" in os.environ:
    setattr(place, name, stepped)
"""
OURS, CONVERTERS = "graded_kernels.autograder.classroom.nbgrader", "nbgrader.converters.autograde.Autograde"
STEPS = {
    "old scores": (f"{OURS}.points.clear_scores", 2),
    "submission": (f"{CONVERTERS}.init_assignment", 2),
    "scores": (f"{OURS}.grade_cells.SaveScores._add_score", 5),
    "last step": (f"{OURS}.autograde.lateness", 2),
}


@pytest.fixture(scope="module")
def calm(made_course, tmp_path_factory) -> Path:
    """A course that was graded in peace, with its verdicts."""
    course = copied(made_course, tmp_path_factory.mktemp("calm"))
    for student in STUDENTS:
        place(course, student).write_text(json.dumps(right_answers(course)))
    assert_success(api(course).autograde("tiny", "*"))
    return course


def autograde(course: Path, *options: str, **variables: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "nbgrader", "autograde", "tiny", *options]
    variables = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "material")} | variables
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
        assert ran.returncode == 1
        assert "Traceback" not in ran.stderr
        assert "Stopped: only 0 MB are free" in ran.stderr
        assert "goes on from here" in ran.stderr
        assert list(storm.glob("autograded/*")) == ([storm / "autograded" / "a"] if when == "between" else [])
        (storm / full_disk.BALLAST).unlink()
        (storm / "freed").touch()
        again = autograde(storm)
        assert again.returncode == 0, again.stderr
        graded = 2 if when == "between" else 3
        assert f"{graded} graded" in again.stderr
        assert "2 of 2 verdicts were there" in again.stderr
        assert [scores(storm, student) for student in STUDENTS] == [FULL] * 3 == [scores(calm, one) for one in STUDENTS]


@pytest.mark.exhaustive
@pytest.mark.parametrize("step", STEPS)
def test_a_gradebook_whose_disk_fills_ends_a_run_in_a_sentence(calm, tmp_path, step):
    if not full_disk.can_mount(tmp_path):
        pytest.skip(full_disk.NOT_HERE)
    course = copied(calm, tmp_path)
    with full_disk.mounted(tmp_path / "disk", 16) as disk:
        shutil.move(course / "gradebook.db", disk / "gradebook.db")
        (course / "gradebook.db").symlink_to(disk / "gradebook.db")  # for `scores`
        with open(course / "nbgrader_config.py", "a") as config:
            config.write(f"c.CourseDirectory.db_url = 'sqlite:///{disk}/gradebook.db'\n{FILLS_AT}")
        place(course, "b").with_name("timestamp.txt").write_text("2026-01-01 10:00:00 UTC")
        at, call = STEPS[step]
        ran = autograde(course, "--force", AT=at, CALL=str(call))
        assert ran.returncode == 1
        assert "Traceback" not in ran.stderr
        assert "db upgrade" not in ran.stderr
        assert ran.stderr.count("Stopped: ") == 1
        assert f"{disk}" in ran.stderr
        assert "goes on from here" in ran.stderr
        (disk / full_disk.BALLAST).unlink()
        again = autograde(course)
        assert again.returncode == 0, again.stderr
        assert [scores(course, student) for student in STUDENTS] == [FULL] * 3
        assert sorted(path.parent.parent.name for path in course.glob("autograded/*/*/*.ipynb")) == list(STUDENTS)


@pytest.fixture
def courses(tmp_path):
    made = CourseDirectory(root=str(tmp_path))
    made.db_url = f"sqlite:///{tmp_path}/gradebook.db"
    return made


def test_sqlites_full_disk_is_told_apart_from_its_other_failures(courses):
    engine = create_engine(courses.db_url)
    with disk.watched(courses), engine.connect() as connection:
        with pytest.raises(OperationalError, match="no such table"):
            connection.execute(text("SELECT * FROM student"))
        connection.execute(text("PRAGMA max_page_count = 2"))
        connection.execute(text("CREATE TABLE student (id TEXT)"))
        with pytest.raises(disk.DiskFull, match=r"gradebook\.db\) is full.*free some space"):
            connection.execute(text("INSERT INTO student VALUES (:id)"), {"id": "a" * 100_000})
    with pytest.raises(OperationalError, match="is full"), engine.connect() as connection:
        connection.execute(text("PRAGMA max_page_count = 2"))
        connection.execute(text("INSERT INTO student VALUES (:id)"), {"id": "a" * 100_000})


def test_a_file_that_finds_no_space_ends_the_run(tmp_path):
    def write(code: int) -> None:
        with disk.writing(tmp_path):
            raise OSError(code, os.strerror(code))

    for code, sentence in ((errno.ENOSPC, "No space left on device"), (errno.EDQUOT, "Disk quota exceeded")):
        with pytest.raises(disk.DiskFull, match=sentence):
            write(code)
    with pytest.raises(PermissionError):
        write(errno.EACCES)
