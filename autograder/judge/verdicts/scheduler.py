"""Dask (`distributed`) makes verdicts, on whatever cluster an address leads to.

Whoever reaches a scheduler can run code in its workers.
"""

import json
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

import dask
from distributed import Client, Future, as_completed
from distributed.scheduler import KilledWorker

from .job import UNFIT, Work
from .make_all import NoWorker
from .verdict import DEATHS

_AHEAD = 4  # checks that are handed to a cluster which has no worker yet
_PATIENCE = 60  # seconds to reach a scheduler

W = TypeVar("W", bound=Work)


class Cluster:
    """A client of a scheduler. Never more checks are under way than there are threads: a worker that dies then counts
    against the check that it was at, and no other.
    """

    SETTINGS: ClassVar[dict[str, Any]] = {
        "distributed.scheduler.allowed-failures": DEATHS - 1,
        "distributed.admin.log-format": "%(message)s",
        # Dask samples every process's stack 100 times a second and wakes each event loop 50 times a second: 6% of a
        # core for the client and as much for each worker, whatever they do; like this 1%.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1s",
        "distributed.admin.system-monitor.interval": "5s",
    }

    def __init__(self, client: Client, level: str, threads: Callable[[], int] | None = None):
        """threads: how many there are now; by default the scheduler is asked."""
        self._client, self._level, self._threads = client, level, threads
        self.dashboard = client.dashboard_link

    @classmethod
    @contextmanager
    def at(cls, address: str, level: str) -> "Iterator[Cluster]":
        """The one at ``address``; certificates for ``tls://`` come from Dask's own configuration. Raises NoWorker."""
        with cls.configured():
            try:
                client = Client(address, timeout=_PATIENCE)
            except (OSError, ValueError, TypeError) as error:
                raise NoWorker(f"no scheduler answers at {address}: {error}") from None
            with client:
                yield cls(client, level)

    @classmethod
    @contextmanager
    def configured(cls) -> Iterator[None]:
        """Dask's settings for a scheduler, client or workers that this process starts."""
        with dask.config.set(cls.SETTINGS):
            yield

    @property
    def threads(self) -> int:
        """The number of jobs that run at the same time."""
        return self._threads() if self._threads else sum(self._client.nthreads().values())

    def run(self, queue: deque[W], work: Callable[[str, str], str]) -> Iterator[tuple[W, dict[str, Any] | None]]:
        """Each job of the queue with what came of it, or None where it ended `DEATHS` workers. Jobs may be added to the
        queue between two results. work: called in a worker with the job and the level, text that returns text. Raises
        NoWorker.
        """
        running: dict[Future[str], W] = {}
        done = as_completed()

        def fill() -> None:
            room = (self.threads or _AHEAD) - len(running) if queue else 0
            for _ in range(min(room, len(queue))):
                job = queue.popleft()
                key = f"{job.name}-{job.key}"
                future = self._client.submit(work, job.to_json(), self._level, key=key, pure=True)
                running[future] = job
                done.add(future)

        while queue or running:
            fill()
            future = next(done)
            job = running.pop(future)
            fill()  # a worker has its next check while the verdict of the last one is read and written to the disk
            if future.status == "finished":
                result = json.loads(future.result())
                if UNFIT in result:
                    raise NoWorker(f"a worker cannot be used: {result[UNFIT]}")
                yield job, result
            elif isinstance(future.exception(), KilledWorker):
                yield job, None
            else:
                raise NoWorker(f"the cluster gave up a check: {future.exception()}")
            future.release()
