"""A small class graded under disturbance has the grades of one graded in peace (`make chaos` has a larger one)."""

import re

import chaos
import pytest


@pytest.mark.exhaustive
def test_a_disturbed_run_ends_with_the_same_grades(tmp_path):
    outcome = chaos.run(tmp_path, learners=6)
    log = outcome.log
    assert outcome.same and outcome.twice == [], log
    assert outcome.workers_killed >= 2, log
    assert outcome.statuses == {"disk full": 1, "client 0": 0, "client 1": 0}, log
    # A verdict is not written, or, where all of them were there in time, nbgrader's step stops before it begins.
    assert re.search(r"Stopped: (\[Errno 28\] No space left on device|only \d+ MB are free)", log), log
    assert "Waiting for another run to end" in log, log
