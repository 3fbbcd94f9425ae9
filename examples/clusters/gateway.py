"""Grades through Dask Gateway, from a notebook server of a JupyterHub: `python gateway.py 01_silu`, in the course root.

NOT RUN by this project.

    pip install dask-gateway

The gateway's image holds this package in the same version as the notebook server, and `graded-kernels doctor` says
"good" or "strong" in it. The gateway encrypts, and asks who you are.

A user cannot set the environment of workers here. Its administrator adds the settings of memory and wake-ups that the
command's own workers have, without which a check costs a fifth more, to ``c.ClusterConfig.environment`` in the
gateway's configuration, or to the image:

    python -c "from graded_kernels.autograder.classroom.cluster import variables; print(variables())"
"""

import sys
from contextlib import contextmanager

from dask_gateway import Gateway
from graded_kernels.autograder.classroom.grade import grade
from graded_kernels.autograder.judge import Cluster


@contextmanager
def gateway(isolation: str):
    with (
        Cluster.configured(),
        Gateway() as hub,
        hub.new_cluster(worker_cores=1, worker_memory=4, shutdown_on_close=True) as cluster,
    ):
        cluster.scale(16)
        with cluster.get_client() as client:
            client.wait_for_workers(1)
            yield Cluster(client, isolation)


if __name__ == "__main__":
    sys.exit(grade(sys.argv[1], gateway))
