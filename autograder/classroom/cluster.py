"""Dask (`distributed`) makes verdicts: on this machine's cores, or on whatever cluster an address leads to.

Whoever reaches a scheduler can run code in its workers. The local cluster speaks TLS with a key of its own that exists
in its memory alone, and listens on the loopback interface: other accounts of the machine cannot join it.
"""

import logging
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver

import dask
from distributed import Client, Future, LocalCluster, as_completed
from distributed.scheduler import KilledWorker
from distributed.security import Security

from ..verdicts.job import Job
from .task import check

STARTS = 3  # of the local cluster, before it is said that its processes do not start
DEATHS = 3  # workers that a check may end before it is left to a person
_AHEAD = 4  # checks that are handed to a cluster which has no worker yet
_PATIENCE = 60  # seconds to reach a scheduler
_PRELOADED = f"{__package__}.preloaded"
_SETTINGS = {
    "distributed.scheduler.allowed-failures": DEATHS - 1,
    "distributed.admin.log-format": "%(message)s",
    # Dask samples every process's stack 100 times a second and wakes each event loop 50 times a second: 6% of a core
    # for the client and as much for each worker, whatever they do; like this 1%.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}
# Of the C library, in the environment of workers. Dask has it return what is freed above 64 KiB to the system at once,
# so that every large temporary is mapped, zeroed and unmapped again: a fifth of a check's time. These are the library's
# own upper bounds, which it would reach by itself.
MALLOC = {"MALLOC_TRIM_THRESHOLD_": 64 << 20, "MALLOC_MMAP_THRESHOLD_": 32 << 20}
_OWN = {f"distributed.nanny.pre-spawn-environ.{name}": size for name, size in MALLOC.items()}


class NoCluster(Exception):
    """No worker can be had; the message says why."""


class Cluster:
    """A client of a scheduler. Never more checks are under way than there are threads: a worker that dies then counts
    against the check that it was at, and no other.
    """

    def __init__(self, client: Client, rung: str, threads: Callable[[], int] | None = None):
        """threads: how many there are now; by default the scheduler is asked."""
        self._client, self._rung, self._threads = client, rung, threads
        self.dashboard = client.dashboard_link

    @property
    def threads(self) -> int:
        """The number of jobs that run at the same time."""
        return self._threads() if self._threads else sum(self._client.nthreads().values())

    def run(self, queue: deque[Job]) -> Iterator[tuple[Job, str | None]]:
        """Each job of the queue with what came of it (`task.check`), or None where it ended `DEATHS` workers. Jobs may
        be added to the queue between two results.
        """
        running: dict[Future[str], Job] = {}
        done = as_completed()

        def fill() -> None:
            room = (self.threads or _AHEAD) - len(running) if queue else 0
            for _ in range(min(room, len(queue))):
                job = queue.popleft()
                key = f"{job.name}-{job.key}"
                future = self._client.submit(check, job.to_json(), self._rung, key=key, pure=True)
                running[future] = job
                done.add(future)

        while queue or running:
            fill()
            future = next(done)
            job = running.pop(future)
            fill()  # a worker has its next check while the verdict of the last one is read and written to the disk
            if future.status == "finished":
                yield job, future.result()
            elif isinstance(future.exception(), KilledWorker):
                yield job, None
            else:
                raise NoCluster(f"the cluster gave up a check: {future.exception()}")
            future.release()


@contextmanager
def local(workers: int | None, rung: str) -> Iterator[Cluster]:
    """One of this machine: a process for each core, or as many as ``workers`` says. Raises RuntimeError where its
    processes do not start.
    """
    prepare()
    with configured(), dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"} | _OWN):
        with _started(workers or os.cpu_count()) as cluster, Client(cluster) as client:
            yield Cluster(client, rung, lambda: cluster.scheduler.total_nthreads)  # without a message to itself


def prepare() -> None:
    """Starts the process that local workers are forked from. Its imports take seconds, and go on beside other work.

    Its environment is the one that Dask would give it, the number for its hashes included.
    """
    with dask.config.set(_OWN):
        given = dask.config.get("distributed.nanny.pre-spawn-environ") | {"PYTHONHASHSEED": 6640}
    before = dict(os.environ)
    os.environ.update({name: str(value) for name, value in given.items()})
    try:
        multiprocessing.get_context("forkserver").set_forkserver_preload([_PRELOADED, "distributed"])
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)


def _started(workers: int | None) -> LocalCluster:
    """Dask gives a cluster up if one of its workers ends while it starts, which is common on a full machine."""
    for left in reversed(range(STARTS)):
        try:
            return LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=None,  # what answers may hold is limited by the sandbox
                protocol="tls://",
                security=Security.temporary(),
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
        except RuntimeError:
            if not left:
                raise
    raise AssertionError("STARTS is at least 1")


@contextmanager
def remote(address: str, rung: str) -> Iterator[Cluster]:
    """The one at ``address``; certificates for ``tls://`` come from Dask's own configuration. Raises NoCluster."""
    with configured():
        try:
            client = Client(address, timeout=_PATIENCE)
        except (OSError, ValueError, TypeError) as error:
            raise NoCluster(f"no scheduler answers at {address}: {error}") from None
        with client:
            yield Cluster(client, rung)


@contextmanager
def configured() -> Iterator[None]:
    """Dask's settings for a scheduler, client or workers that this process starts."""
    with dask.config.set(_SETTINGS):
        yield


def variables() -> dict[str, str]:
    """The same settings and the C library's, as environment variables for what is started elsewhere."""
    own = {f"DASK_{name.upper().replace('.', '__').replace('-', '_')}": one for name, one in _SETTINGS.items()}
    del own["DASK_DISTRIBUTED__ADMIN__LOG_FORMAT"]  # theirs says when
    return {name: str(value) for name, value in (own | MALLOC).items()}
