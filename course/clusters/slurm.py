"""Grades on a SLURM cluster, from its login node: `python slurm.py 01_silu`, in the course root.

NOT RUN by this project.

    pip install dask-jobqueue

The course's Python environment has to be on a file system that the compute nodes share; the course root need not be.
"""

import sys
from contextlib import contextmanager

from dask_jobqueue import SLURMCluster
from distributed import Client
from distributed.security import Security
from graded_kernels.autograder.classroom.cluster import Cluster
from graded_kernels.autograder.classroom.grade import grade

NODES = 4


@contextmanager
def slurm(rung: str):
    """16 workers on each node, one check at a time in each."""
    with SLURMCluster(
        queue="compute",
        account="YOUR-ACCOUNT",
        cores=16,
        processes=16,
        memory="64GB",
        walltime="02:00:00",
        job_extra_directives=["--job-name=grading"],
        worker_extra_args=["--memory-limit", "0"],
        protocol="tls://",
        security=Security.temporary(),
        shared_temp_directory="~/.dask-certificates",  # read by the nodes, and by you alone
    ) as cluster:
        cluster.scale(jobs=NODES)
        with Client(cluster) as client:
            client.wait_for_workers(1)
            yield Cluster(client, rung)


if __name__ == "__main__":
    sys.exit(grade(sys.argv[1], slurm))
