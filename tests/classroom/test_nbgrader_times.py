"""Times of submission that cannot be read: formgrader lists the class all the same."""

import os
from pathlib import Path

from classroom import api

COURSE = Path(__file__).resolve().parents[2] / "course"


def test_a_time_that_cannot_be_read_is_missing(tmp_path):
    (tmp_path / "nbgrader_config.py").write_text((COURSE / "nbgrader_config.py").read_text())
    found = api(tmp_path)
    found.coursedir.root = str(tmp_path)
    for student in ("in_time", "words", "pipe", "link", "none"):
        (tmp_path / "submitted" / student / "tiny").mkdir(parents=True)

    def time(student: str) -> Path:
        return tmp_path / "submitted" / student / "tiny" / "timestamp.txt"

    time("in_time").write_text("2026-01-02 10:00:00 UTC")
    time("words").write_text("the day before yesterday")
    os.mkfifo(time("pipe"))
    time("link").symlink_to("/etc/hostname")
    assert found.get_submitted_timestamp("tiny", "in_time").isoformat().startswith("2026-01-02T10:00")
    assert [found.get_submitted_timestamp("tiny", one) for one in ("words", "pipe", "link", "none")] == [None] * 4
