"""Ctrl-C in ``nbgrader autograde``, sent by the run to itself at a known place: no test here looks at a clock."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import classroom
import pytest
from classroom import place, right_answers, scores
from graded_kernels.autograder.classroom.nbgrader import interrupt

CONFIG = Path(__file__).resolve().parents[2] / "course" / "nbgrader_config.py"

# The configuration, with a Ctrl-C in the middle of its imports.
IMPORTING = """
import os, runpy, signal, sys
class Interrupts:
    def find_spec(name, path=None, target=None):
        if name == "graded_kernels.autograder.classroom.nbgrader.markdown":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts)
runpy.run_path("nbgrader_config.py")
"""

# A run in which a finalizer in the first check drops the exception.
DROPPED = """
import os, signal
from graded_kernels.autograder.classroom.nbgrader.grade_cells import Grade
from nbgrader.apps.nbgraderapp import main
class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
def dropped(self, nb, learners, index, points):
    print("CHECK", flush=True)
    Finalized()
    return 0.0, []
Grade._graded = dropped
main()
"""


def run(code: str, folder: Path, *command: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code, *command], cwd=folder, capture_output=True, text=True)


def test_ctrl_c_during_the_imports_is_one_sentence(tmp_path):
    shutil.copy(CONFIG, tmp_path)
    ran = run(IMPORTING, tmp_path, "autograde", "tiny")
    assert (ran.returncode, ran.stdout, ran.stderr) == (interrupt.EXIT, "", f"{interrupt.NOTHING}\n")


def test_other_programs_that_read_the_configuration_keep_their_handler(tmp_path):
    shutil.copy(CONFIG, tmp_path)
    ran = run(IMPORTING, tmp_path, "lab")
    assert ran.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in ran.stderr


def test_a_dropped_interruption_is_remembered(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["nbgrader", "autograde", "tiny"])
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        interrupt.install()
        with interrupt.grading():
            interrupt.raise_if_asked()
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                interrupt.raise_if_asked()
        with interrupt.grading():  # another run
            interrupt.raise_if_asked()
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.exhaustive
def test_a_run_that_dropped_ctrl_c_stops_before_the_next_check(made_course, tmp_path):
    course = classroom.copied(made_course, tmp_path)
    for student in ("a", "b"):
        place(course, student).write_text(json.dumps(right_answers(course)))
    ran = run(DROPPED, course, "autograde", "tiny")
    assert ran.returncode == interrupt.EXIT, ran.stderr
    assert ran.stdout.count("CHECK") == 1, ran.stderr
    assert ran.stderr.endswith(f"{interrupt.KEPT}\n")
    assert "Traceback" not in ran.stderr
    assert set(scores(course, "a").values()) == {None}
    assert not (course / "autograded" / "a" / "tiny").exists()
