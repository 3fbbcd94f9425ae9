"""What ``graded-kernels grade`` does not pay for: imports that nothing needs, or that another process did already."""

import json
import subprocess
import sys
from collections import deque
from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from classroom import api, assert_success, copied, hand_in, place, right_answers, scores
from graded_kernels.autograder import check
from graded_kernels.autograder.classroom import grade
from graded_kernels.autograder.classroom.cluster import local
from graded_kernels.autograder.classroom.course import Course
from graded_kernels.autograder.classroom.grade import Making
from graded_kernels.autograder.judge import Job, Store, Verdict
from graded_kernels.autograder.judge.verdicts import make as making
from graded_kernels.autograder.judge.verdicts import scheduler
from graded_kernels.autograder.judge.verdicts.job import UNFIT
from graded_kernels.autograder.judge.verdicts.make_all import NoWorker
from graded_kernels.autograder.runner import Answer, Budget, Cell, Limits
from graded_kernels.autograder.words import Exit
from graded_kernels.solutions import silu
from tampered import FULL, TORCH, find

ASKED = """
import sys
from pathlib import Path
from graded_kernels.autograder.classroom import cluster, grade
from graded_kernels.autograder.judge.verdicts import make
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
from graded_kernels.autograder.runner.call.answer import Answer, Cell
from graded_kernels.autograder.runner.sandbox import Limits
from graded_kernels.autograder.judge.verdicts.job import Job
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

    class Unstarted(making.Worker):
        def start(self):
            pytest.fail("nothing is to be checked")

    monkeypatch.setattr(making, "_shared", None)
    monkeypatch.setattr(making, "Worker", Unstarted)
    assert grade.grade("tiny", lambda level: pytest.fail("no verdict is missing"), course, force=True) == Exit.PASSED
    assert "2 of 2 verdicts were there" in capfd.readouterr().err
    assert scores(course, "a") == FULL


def test_a_verdict_gives_account_of_compiling_and_forking(monkeypatch):
    worker = SimpleNamespace(lost=0, spent=8.0, compiler=SimpleNamespace(spent=5.0))
    notebook = Budget("notebook", 100.0)
    right = check("silu_forward", silu.silu_forward, backend="torch")

    def check_answer(*args, **named):
        notebook.spent += 1.5
        worker.compiler.spent += 2.25
        worker.spent += 1000.0
        return right

    monkeypatch.setattr(making, "check_answer", check_answer)
    job = Job(Answer("silu_forward", (Cell("silu_forward-torch", ""),)), "torch", 7, Limits())
    verdict = making.make_verdict(job, worker, notebook=notebook)
    assert verdict.seconds == 3.75
    assert 1000 <= verdict.grader_seconds < 1100


class Completed(deque):
    """In place of Dask's futures as they end."""

    add, __next__ = deque.append, deque.popleft


def client(said):
    """A client with one thread; ``said``: what a worker answers to a job's text. Notes what it was asked."""

    def submit(function, job, level, *, key, pure):
        found.submitted.append(job)
        return Mock(status="finished", result=lambda: json.dumps(said(job)))

    found = Mock(dashboard_link="", submitted=[], submit=submit, nthreads=Mock(return_value={"one": 1}))
    return found


def queue_of(*names):
    return deque(SimpleNamespace(name="n", key=name, to_json=partial(str, name)) for name in names)


@pytest.mark.parametrize("threads", [None, lambda: 1], ids=["asks the scheduler", "is the scheduler's"])
def test_a_worker_has_its_next_check_before_the_last_verdict_is_written(monkeypatch, threads):
    monkeypatch.setattr(scheduler, "as_completed", Completed)
    asked = client(lambda job: {"of": job})
    made = scheduler.Cluster(asked, "strong", threads).run(queue_of(*"012"), check)
    under_way = [(found["of"], list(asked.submitted)) for _, found in made]
    assert under_way == [("0", ["0", "1"]), ("1", ["0", "1", "2"]), ("2", ["0", "1", "2"])]
    assert asked.nthreads.call_count == (0 if threads else 4)


def test_a_worker_that_cannot_be_used_ends_the_run(monkeypatch):
    monkeypatch.setattr(scheduler, "as_completed", Completed)
    asked = client(lambda job: {UNFIT: "it has torch 2.0"} if job == "1" else {"of": job})
    made = scheduler.Cluster(asked, "strong").run(queue_of(*"012"), check)
    assert next(made)[1] == {"of": "0"}
    with pytest.raises(NoWorker, match="a worker cannot be used: it has torch 2.0"):
        next(made)


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
