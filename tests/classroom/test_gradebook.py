"""A gradebook that another program holds: a run waits and says so, and no grade is lost."""

import json
import sqlite3

import pytest
from classroom import api, assert_success, copied, place, right_answers, scores
from graded_kernels.autograder.classroom.nbgrader import lock
from tampered import FULL


@pytest.fixture
def course(made_course, tmp_path):
    return copied(made_course, tmp_path)


@pytest.fixture
def held(course):
    """Another program's transaction on the gradebook."""
    connection = sqlite3.connect(course / "gradebook.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


def test_a_lock_is_waited_for_and_told_of_once(course, held, monkeypatch):
    messages, slept = [], []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 3:
            held.execute("ROLLBACK")

    monkeypatch.setattr(lock.time, "sleep", sleep)
    lock.wait(f"sqlite:///{course}/gradebook.db", lambda *words: messages.append(words))
    assert len(slept) == 3
    assert messages == [(lock.HELD, f"{course}/gradebook.db")]
    lock.wait(f"sqlite:///{course}/none.db", pytest.fail)
    lock.wait("postgresql+psycopg://teacher@head/grades", pytest.fail)


@pytest.mark.exhaustive
def test_a_run_that_finds_the_gradebook_locked_waits(course, held, monkeypatch):
    place(course, "a").write_text(json.dumps(right_answers(course)))
    monkeypatch.setattr(lock.time, "sleep", lambda seconds: held.execute("ROLLBACK"))
    result = api(course).autograde("tiny", "a")
    assert_success(result)
    assert "Another program holds the gradebook" in result["log"]
    assert scores(course, "a") == FULL
