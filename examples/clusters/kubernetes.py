"""Grades on Kubernetes with Dask's operator: `python kubernetes.py 01_silu`, in the course root.

NOT RUN by this project.

    pip install dask-kubernetes
    helm install --create-namespace -n dask-operator dask-operator --repo https://helm.dask.org dask-kubernetes-operator

The image holds this package in the same version as yours. Landlock has to be in the nodes' kernel, since pods have no
bubblewrap:
`kubectl run -it --rm doctor --image=IMAGE -- graded-kernels doctor` should say "good". Dask does not encrypt
the traffic between pods here: give the namespace a network policy that lets in no other pod. Scheduler and workers
get the settings of memory and wake-ups that the command's own workers have, without which a check costs a fifth more.
"""

import sys
from contextlib import contextmanager

from dask_kubernetes.operator import KubeCluster
from distributed import Client
from graded_kernels.autograder.classroom.cluster import variables
from graded_kernels.autograder.classroom.grade import grade
from graded_kernels.autograder.judge import Cluster

IMAGE = "registry.example.org/graded-kernels:0.2.0"


@contextmanager
def kubernetes(isolation: str):
    with (
        Cluster.configured(),
        KubeCluster(
            name="grading",
            namespace="grading",
            image=IMAGE,
            env=variables(),
            n_workers=32,
            worker_command=["dask", "worker", "--nthreads", "1", "--memory-limit", "0"],
            resources={"requests": {"cpu": "1", "memory": "3Gi"}, "limits": {"cpu": "2", "memory": "6Gi"}},
        ) as cluster,
    ):
        with Client(cluster) as client:
            client.wait_for_workers(1)
            yield Cluster(client, isolation)


if __name__ == "__main__":
    sys.exit(grade(sys.argv[1], kubernetes))
