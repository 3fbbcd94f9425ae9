"""Tables and pages on a disk that is full: what was there before is kept, and one sentence says what to do."""

import errno
import os

import pytest
from classroom import api, copied
from graded_kernels.autograder import cli
from graded_kernels.autograder.classroom import grade as grading
from graded_kernels.autograder.classroom.nbgrader import disk
from nbgrader.apps import NbGraderApp

SENTENCE = "could not be written: No space left on device. What was there before is kept. Free some space."


@pytest.fixture
def full(monkeypatch):
    """As a disk behaves on which no block is left: the name of a file can be made, its content cannot be kept."""

    def replace(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(disk.os, "replace", replace)


def test_a_file_is_replaced_as_a_whole(tmp_path):
    table, link = tmp_path / "grades.csv", tmp_path / "link.csv"
    disk.put(table, "a,b\r\n", "utf-8-sig")
    assert table.read_bytes() == b"\xef\xbb\xbfa,b\r\n"
    table.chmod(0o600)
    link.symlink_to(table)
    disk.put(link, "c\n")
    assert table.read_bytes() == b"c\n"
    assert link.is_symlink()
    assert table.stat().st_mode & 0o777 == 0o600
    disk.put(tmp_path / "/dev/null", "d")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["grades.csv", "link.csv"]


def test_what_was_there_outlives_a_full_disk(tmp_path, full):
    table = tmp_path / "grades.csv"
    table.write_text("before")
    with pytest.raises(disk.NotWritten) as raised:
        disk.put(table, "after")
    assert str(raised.value) == f"{table} {SENTENCE}"
    assert table.read_text() == "before"
    assert list(tmp_path.iterdir()) == [table]
    with pytest.raises(disk.NotWritten, match=r"File exists\. What was there before is kept\.$"):
        disk.make_folder(table)


def test_the_commands_end_with_the_sentence(made_course, tmp_path, full, monkeypatch, capsys):
    course = copied(made_course, tmp_path)
    with api(course).gradebook as gradebook:
        gradebook.add_student("ada")
    (course / "reports").mkdir()
    (course / "reports" / "tiny.html").write_text("before")
    assert cli.main(["report", "tiny", "--course", str(course)]) == 1
    assert capsys.readouterr().err == f"graded-kernels: {course}/reports/tiny.html {SENTENCE}\n"
    assert (course / "reports" / "tiny.html").read_text() == "before"
    (course / "grades.csv").write_text("before")
    monkeypatch.chdir(course)
    NbGraderApp.clear_instance()
    with pytest.raises(SystemExit) as ended:
        NbGraderApp.launch_instance(["export"])
    assert ended.value.code == 1
    assert f"grades.csv {SENTENCE}" in capsys.readouterr().err
    assert (course / "grades.csv").read_text() == "before"


def test_a_grading_run_says_what_to_do(made_course, tmp_path, monkeypatch, capsys):
    def lock(*args, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    course = copied(made_course, tmp_path)
    (course / "submitted" / "ada" / "tiny").mkdir(parents=True)
    (course / "submitted" / "ada" / "tiny" / "tiny.ipynb").write_text("{}")
    monkeypatch.setattr(grading, "Lock", lock)
    assert cli.main(["grade", "tiny", "--course", str(course)]) == 1
    assert "No space left on device. Free some space. Every verdict that was reached is kept" in capsys.readouterr().out
