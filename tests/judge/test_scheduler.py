"""Dask's workers have their next check in time, and one that cannot be used ends the run: with a client of lists."""

import json
from collections import deque
from functools import partial
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from graded_kernels.autograder.judge.verdicts import scheduler
from graded_kernels.autograder.judge.verdicts.make import check
from graded_kernels.autograder.judge.verdicts.make_all import NoWorker


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
    asked = client(lambda job: {"unfit": "it has torch 2.0"} if job == "1" else {"of": job})
    made = scheduler.Cluster(asked, "strong").run(queue_of(*"012"), check)
    assert next(made)[1] == {"of": "0"}
    with pytest.raises(NoWorker, match="a worker cannot be used: it has torch 2.0"):
        next(made)
