"""The exchange between accounts of one machine, by nbgrader: released, fetched, handed in, collected, graded,
and the feedback read by the learner alone. Needs root, to make the accounts.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hub
import pytest
from classroom import copied, right_answers, scores
from tampered import FULL

pytestmark = pytest.mark.release
COURSE = ("--course", "graded-kernels")
EVERYBODY = "c = get_config()\nc.Exchange.root = {!r}\nc.CourseDirectory.course_id = 'graded-kernels'\n"


class Machine:
    """Accounts, a Python that they can run, and an exchange, in ``folder``; the course is the grader's."""

    def __init__(self, folder: Path, course: Path):
        self.folder, self.course, self.python = folder, course, hub.reachable_python(folder)
        (folder / "exchange").mkdir()
        (folder / "exchange").chmod(0o777)
        (folder / "etc").mkdir()
        (folder / "etc" / "nbgrader_config.py").write_text(EVERYBODY.format(str(folder / "exchange")))
        subprocess.run(["chown", "-R", f"{hub.GRADER}:", str(course)], check=True)

    def run(self, account: str, module: str, *arguments: str, place: Path | None = None) -> subprocess.CompletedProcess:
        """As the account, in its home unless a ``place`` is given. Fails with what was printed."""
        done = self.tried(account, str(self.python), "-m", module, *arguments, place=place)
        assert done.returncode == 0, done.stdout
        return done

    def tried(self, account: str, *command: str, place: Path | None = None) -> subprocess.CompletedProcess:
        home = self.folder / account
        variables = {
            "HOME": str(home),
            "USER": account,
            "PATH": f"{self.python.parent}:{Path(sys.prefix, 'bin')}:/usr/bin:/bin",
            "JUPYTER_CONFIG_PATH": str(self.folder / "etc"),
            "JUPYTER_PATH": str(Path(sys.prefix, "share", "jupyter")),
            "LD_LIBRARY_PATH": str(self.folder / "python" / "lib"),
            "OMP_NUM_THREADS": "1",
        }
        return subprocess.run(
            command,
            cwd=place or home,
            env=variables,
            user=account,
            group=account,
            extra_groups=[],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture
def machine(made_course) -> Iterator[Machine]:
    if os.geteuid():
        pytest.skip("not run: needs root, to make accounts")
    with tempfile.TemporaryDirectory(prefix="gk-exchange-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        with hub.accounts(place):
            yield Machine(place, copied(made_course, place))


def test_an_assignment_goes_to_a_learner_and_its_feedback_comes_back(machine):
    home, course = machine.folder / hub.LEARNER, machine.course

    def grader(*arguments: str, module: str = "nbgrader") -> str:
        return machine.run(hub.GRADER, module, *arguments, place=course).stdout

    grader("release_assignment", "tiny")
    machine.run(hub.LEARNER, "nbgrader", "fetch_assignment", "tiny", *COURSE)
    handed_out = home / "tiny" / "tiny.ipynb"
    assert handed_out.read_bytes() == (course / "release" / "tiny" / "tiny.ipynb").read_bytes()
    handed_out.write_text(json.dumps(right_answers(course)))
    machine.run(hub.LEARNER, "nbgrader", "submit", "tiny", *COURSE)
    inbound = machine.folder / "exchange" / "graded-kernels" / "inbound"
    assert machine.tried(hub.TEACHER, "ls", str(inbound)).returncode  # a third account sees nobody's work
    grader("collect", "tiny")
    grader("grade", "tiny", "--workers", "1", module="graded_kernels.autograder")
    assert scores(course, hub.LEARNER) == FULL
    grader("generate_feedback", "tiny")
    grader("release_feedback", "tiny")
    machine.run(hub.LEARNER, "nbgrader", "fetch_feedback", "tiny", *COURSE)
    (page,) = (home / "tiny" / "feedback").rglob("tiny.html")
    assert "silu_forward" in page.read_text()
    for private in (course / "submitted", course / "gradebook.db", course / "verdicts"):
        assert machine.tried(hub.LEARNER, "test", "-r", str(private)).returncode, private
