"""Verdicts made on a cluster. What a worker does is one check, from text to text: nothing is pickled but these two
strings.
"""

import json
from collections import deque
from collections.abc import Iterator

from ...runner import SandboxError
from ..make_all import UNFIT, Cluster, made_by
from .job import Job, OtherVersions
from .make import make, shared_worker
from .verdict import Verdict

FAILED = "failed"  # the key of an answer that is no verdict, because the check crashed


def check(job: str, rung: str) -> str:
    """The verdict on a job, both as JSON; or ``{"unfit": reason}`` or ``{"failed": reason}``. rung: as
    `shared_worker` has it.
    """
    try:
        wanted = Job.from_json(job)
        worker = shared_worker(rung, wanted.isolated)
    except (OtherVersions, SandboxError) as error:
        return json.dumps({UNFIT: str(error)})
    try:
        return make(wanted, worker).to_json()
    except Exception as error:  # nbgrader's autograde meets it again, and leaves the answer to a person
        return json.dumps({FAILED: f"{type(error).__name__}: {error}"[:2000]})


def verdicts_of(cluster: Cluster, jobs: deque[Job]) -> Iterator[tuple[Job, Verdict | str]]:
    """Each job with its verdict, or how its check crashed. More may be added between two results. Raises NoWorker."""
    for job, found in made_by(cluster, jobs, check):
        if found is None:
            yield job, Verdict.left_to_a_person(job.key, job.name)
        else:
            yield job, found[FAILED] if FAILED in found else Verdict.of(found)
