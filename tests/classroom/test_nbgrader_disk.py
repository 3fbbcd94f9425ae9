"""A disk that is full during nbgrader's step of ``graded-kernels grade``."""

import errno
import json
import os

import pytest
from classroom import api, copied, place, right_answers
from graded_kernels.autograder.classroom.nbgrader import autograde
from graded_kernels.autograder.classroom.nbgrader.grade_cells import SaveScores
from sqlalchemy import text


@pytest.mark.exhaustive
def test_a_disk_that_fills_as_nbgraders_step_begins_ends_it_in_a_sentence(made_course, tmp_path, monkeypatch):
    course = copied(made_course, tmp_path)
    place(course, "a").write_text(json.dumps(right_answers(course)))

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "autograded")

    monkeypatch.setattr(autograde, "close_to_others", full)
    result = api(course).autograde("tiny", "a")
    assert not result["success"]
    assert "Stopped: [Errno 28] No space left on device" in result["log"]
    assert "Free some space. What was graded is kept" in result["log"]


@pytest.mark.exhaustive
def test_a_disk_that_fills_as_scores_are_saved_ends_it_in_a_sentence(made_course, tmp_path, monkeypatch):
    """In the caller's process, as in formgrader's. SQLite finds no room, by a limit of its own on the file's size."""
    course = copied(made_course, tmp_path)
    place(course, "a").write_text(json.dumps(right_answers(course)))

    def full(self, *_):
        self.gradebook.db.execute(text("PRAGMA max_page_count = 1"))
        self.gradebook.db.execute(text("CREATE TABLE ballast AS SELECT zeroblob(1000000)"))

    monkeypatch.setattr(SaveScores, "_add_score", full)
    result = api(course).autograde("tiny", "a")
    assert not result["success"]
    assert "upgrade" not in result["log"]
    assert "Stopped: the disk of the gradebook (sqlite://" in result["log"]
    assert "is full" in result["log"]
