"""Dask makes verdicts on this machine's cores.

The local cluster speaks TLS with a key of its own that exists in its memory alone, and listens on the loopback
interface: other accounts of the machine cannot join it.
"""

import logging
import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver

import dask
from distributed import Client, LocalCluster
from distributed.security import Security

from ..judge import Cluster

STARTS = 3  # of the local cluster, before it is said that its processes do not start
_PRELOADED = f"{__package__}.preloaded"
# Of the C library, in the environment of workers. Dask has it return what is freed above 64 KiB to the system at once,
# so that every large temporary is mapped, zeroed and unmapped again: a fifth of a check's time. These are the library's
# own upper bounds, which it would reach by itself.
MALLOC = {"MALLOC_TRIM_THRESHOLD_": 64 << 20, "MALLOC_MMAP_THRESHOLD_": 32 << 20}
_OWN = {f"distributed.nanny.pre-spawn-environ.{name}": size for name, size in MALLOC.items()}


@contextmanager
def local(workers: int | None, level: str) -> Iterator[Cluster]:
    """One of this machine: a process for each core, or as many as ``workers`` says. Raises RuntimeError where its
    processes do not start.
    """
    prepare()
    with Cluster.configured(), dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"} | _OWN):
        with _started(workers or os.cpu_count()) as cluster, Client(cluster) as client:
            yield Cluster(client, level, lambda: cluster.scheduler.total_nthreads)  # without a message to itself


def prepare() -> None:
    """Starts the process that local workers are forked from. Its imports take seconds, and go on beside other work.

    Its environment is the one that Dask would give it, the number for its hashes included.
    """
    with dask.config.set(_OWN):
        environment = dask.config.get("distributed.nanny.pre-spawn-environ") | {"PYTHONHASHSEED": 6640}
    before = dict(os.environ)
    os.environ.update({name: str(value) for name, value in environment.items()})
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


def variables() -> dict[str, str]:
    """The same settings and the C library's, as environment variables for what is started elsewhere."""
    settings = {
        f"DASK_{name.upper().replace('.', '__').replace('-', '_')}": setting
        for name, setting in Cluster.SETTINGS.items()
    }
    del settings["DASK_DISTRIBUTED__ADMIN__LOG_FORMAT"]  # theirs says when
    return {name: str(value) for name, value in (settings | MALLOC).items()}
