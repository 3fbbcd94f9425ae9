"""What ``graded-kernels grade`` does not pay for: imports that nothing needs, or that another process did already."""

import json
import subprocess
import sys

import pytest
from classroom import api, assert_success, copied, hand_in, place, right_answers, scores
from graded_kernels.autograder.classroom import grade
from graded_kernels.autograder.classroom.cluster import local
from graded_kernels.autograder.classroom.course import Course
from graded_kernels.autograder.classroom.grade import Making
from graded_kernels.autograder.judge import Store, Verdict
from graded_kernels.autograder.runner import Worker
from graded_kernels.autograder.words import Exit
from tampered import FULL, TORCH, find

ASKED = """
import sys
from pathlib import Path
from graded_kernels.autograder.classroom import cluster, grade
from graded_kernels.autograder.classroom.cluster import local
from graded_kernels.autograder.classroom.course import Course
course = Course(Path(sys.argv[1]), "tiny", [])
course.run.standard("tiny")
jobs = [job for one in course.run.outdated(False) for job in one.jobs(course.job, lambda job: None)]
print(len(jobs), sorted({"torch", "triton", "matplotlib"} & set(sys.modules)))
"""
FORKED = """
import signal, sys
from graded_kernels.autograder.classroom import preloaded
from graded_kernels.autograder.judge.verdicts import make
from graded_kernels.autograder.runner import Answer, Cell, Limits
from graded_kernels.autograder.judge import Job
before = set(sys.modules)
answer = Answer("silu_forward", (Cell("mine", "def silu_forward(x):\\n    return x\\n"),), "import torch")
found = make.check(Job(answer, "torch", 1, Limits(wall_factor=1000.0)).to_json(), "")
slow = "torch", "triton", "matplotlib", "graded_kernels"
late = sorted(name for name in set(sys.modules) - before if name.split(".")[0] in slow)
print('"score": ' in found, late, signal.getsignal(signal.SIGINT) == signal.SIG_IGN)
"""


@pytest.fixture
def course(made_course, tmp_path):
    return copied(made_course, tmp_path)


def printed(program: str, *arguments) -> str:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.exhaustive
def test_which_verdicts_are_missing_is_found_without_pytorch(course):
    hand_in(course, "a")
    assert printed(ASKED, course) == "2 []"


@pytest.mark.exhaustive
def test_workers_begin_to_start_while_the_notebooks_are_read(course):
    for number in range(2):
        notebook = right_answers(course)
        find(notebook, TORCH)["source"] += f"\n# reader {number}"
        place(course, f"reader{number}").write_text(json.dumps(notebook))
    asked = Course(course, "tiny", [])
    read, started = [], []

    def reading():
        for notebook in asked.run.outdated(False):
            yield notebook
            read.append(notebook.name)

    made = Making(Store(course), reading(), asked.job, lambda: started.append(list(read)))
    assert started == [[]]
    assert len(read) == 2
    for job in made.queue:
        Store(course).put(Verdict(job.key, job.name, report={"stopped_in": None}))
    outdated = asked.run.outdated(False)
    assert not Making(Store(course), outdated, asked.job, lambda: pytest.fail("nothing is missing")).queue


@pytest.mark.exhaustive
def test_workers_are_forked_from_a_process_that_has_all_imports():
    assert printed(FORKED) == "True [] True"


@pytest.mark.exhaustive
def test_a_run_that_follows_on_its_verdicts_starts_no_worker(course, monkeypatch, capfd):
    hand_in(course, "a")
    assert_success(api(course).autograde("tiny", "a"))

    monkeypatch.setattr(Worker, "start", lambda self: pytest.fail("nothing is to be checked"))
    assert grade.grade("tiny", lambda level: pytest.fail("no verdict is missing"), course, force=True) == Exit.PASSED
    assert "2 of 2 verdicts were there" in capfd.readouterr().err
    assert scores(course, "a") == FULL


def test_the_jobs_of_a_notebook_are_made_once_whatever_their_verdicts_are(made_course, tmp_path):
    course, asked = copied(made_course, tmp_path), []
    hand_in(course, "a")
    known = Course(course, "tiny", [])

    def job_of(*given):
        asked.append(given)
        return known.job(*given)

    (notebook,) = known.run.outdated(force=False)
    first = [job.key for job in notebook.jobs(job_of, lambda job: None)]
    assert [job.key for job in notebook.jobs(job_of, lambda job: None)] == first
    assert len(asked) == len(first) == 2


def test_the_command_does_not_look_through_its_imports_again(tmp_path):
    code = "import argparse, gc\nfrom graded_kernels.autograder.classroom import command, grade\n"
    code += "grade.main = lambda options: print(gc.isenabled(), gc.get_freeze_count() > 100_000)\n"
    code += "command.run_grade(argparse.Namespace())\n"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert ran.stdout.split() == ["True", "True"], ran.stderr


def spent_by_a_worker() -> tuple[int, float, bool]:
    """In a worker: the pages that the system zeroes for 20 temporaries of 8 MiB, the seconds between two wake-ups of
    its event loop, and whether its stack is sampled.
    """
    import resource

    import numpy
    from distributed import get_worker

    for _ in range(2):  # the first ones grow the heap
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(20):
            numpy.ones(1 << 20) + 1.0
        pages = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    callbacks = get_worker().periodic_callbacks
    return pages, callbacks["tick"].callback_time / 1000, "profile" in callbacks


@pytest.mark.exhaustive
def test_a_worker_keeps_its_memory_and_sleeps_while_it_has_nothing_to_do():
    with local(1, "") as cluster:
        pages, tick, sampled = cluster._client.submit(spent_by_a_worker).result()
    assert pages < 2048, "one of 40 temporaries has 2048 pages"
    assert tick >= 1
    assert not sampled
