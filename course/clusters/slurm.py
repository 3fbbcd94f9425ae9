"""Grades on a SLURM cluster, from its login node: `python slurm.py 01_silu`, in the course root.

    pip install dask-jobqueue

Run by this project on one node, with SLURM 22.05 (tests/classroom/test_slurm.py). The course's environment has to be
on a file system that the compute nodes share; the course root need not be.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dask_jobqueue import SLURMCluster
from distributed import Client
from distributed.security import Security
from graded_kernels.autograder.classroom.cluster import variables
from graded_kernels.autograder.classroom.grade import grade
from graded_kernels.autograder.judge import Cluster

QUEUE, ACCOUNT = "compute", "YOUR-ACCOUNT"
NODES = 4
CORES = 16  # of each; one check at a time on each core
MEMORY = "64GB"
CERTIFICATES = Path.home() / ".dask-certificates"  # read by the nodes, and by you alone


@contextmanager
def slurm(level: str) -> Iterator[Cluster]:
    """A job for each node, and a worker for each of its cores."""
    CERTIFICATES.mkdir(mode=0o700, exist_ok=True)
    with (
        Cluster.configured(),
        SLURMCluster(
            queue=QUEUE,
            account=ACCOUNT,
            cores=CORES,
            processes=CORES,
            memory=MEMORY,
            walltime="02:00:00",
            job_extra_directives=["--job-name=grading"],
            job_script_prologue=[f"export {name}={value}" for name, value in variables().items()],
            worker_extra_args=["--memory-limit", "0"],
            protocol="tls://",
            security=Security.temporary(),
            shared_temp_directory=str(CERTIFICATES),
        ) as cluster,
    ):
        cluster.scale(jobs=NODES)
        with Client(cluster) as client:
            client.wait_for_workers(1)
            yield Cluster(client, level)


if __name__ == "__main__":
    sys.exit(grade(sys.argv[1], slurm))
