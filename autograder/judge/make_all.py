"""Many things made, one after the other or several at a time: the jobs of a check of several files, of a table of
comparisons, of a class. Who asks keeps what was made, and asks again for what is missing.

A job has a key: two with the same key come to the same. What comes of one that fails says so, and the others go on;
`NoWorker` ends the run, since no other job would fare better.
"""

import json
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

UNFIT = "unfit"  # the key of what a worker says in place of a result where it cannot make any

J = TypeVar("J")
F = TypeVar("F")


class NoWorker(RuntimeError):
    """No worker can be had, or the one that there is cannot make anything; the message says why."""


class Work(Protocol):
    """A job as a cluster is given it, as text."""

    @property
    def name(self) -> str:
        """For Dask's dashboard."""

    @property
    def key(self) -> str:
        """The same for the same work."""

    def to_json(self) -> str:
        """What the worker is handed."""


W = TypeVar("W", bound=Work)


class Cluster(Protocol):
    """Where jobs are made on other machines, or other processes (`verdicts.scheduler`)."""

    def run(self, queue: deque[W], work: Callable[[str, str], str], /) -> Iterator[tuple[W, str | None]]:
        """Each job with what a worker said, or None where it ended every worker that tried. Raises NoWorker."""


def made_by(
    cluster: Cluster, jobs: deque[W], work: Callable[[str, str], str]
) -> Iterator[tuple[W, dict[str, Any] | None]]:
    """On a cluster. work: called in a worker, from text to text. More jobs may be added between two results. Raises
    NoWorker.
    """
    for job, text in cluster.run(jobs, work):
        found: dict[str, Any] | None = json.loads(text) if text else None
        if found and UNFIT in found:
            raise NoWorker(f"a worker cannot be used: {found[UNFIT]}")
        yield job, found


def made_here(
    jobs: deque[J], makers: Sequence[Callable[[J], F]], stop: Callable[[], None] | None = None
) -> Iterator[tuple[J, F]]:
    """On this machine, as they are done: each of the makers takes the next job. One alone works in
    this thread, several in one each. stop: ends what is under way, which is waited for where there is none.
    """
    if len(makers) == 1:
        while jobs:
            job = jobs.popleft()
            yield job, makers[0](job)
        return
    done: queue.SimpleQueue[tuple[J, F] | BaseException | None] = queue.SimpleQueue()
    ended = threading.Event()

    def work(make: Callable[[J], F]) -> None:
        try:
            while not ended.is_set():
                try:
                    job = jobs.popleft()
                except IndexError:
                    break
                done.put((job, make(job)))
            done.put(None)
        except BaseException as error:
            done.put(error)

    threads = [threading.Thread(target=work, args=(make,), daemon=True) for make in makers]
    for thread in threads:
        thread.start()
    running = len(threads)
    try:
        while running:
            found = done.get()
            if isinstance(found, BaseException):
                raise found
            if found is None:
                running -= 1
            else:
                yield found
    finally:
        ended.set()
        if stop:
            stop()
        else:
            for thread in threads:
                thread.join()
