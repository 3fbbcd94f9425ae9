"""What a worker of the cluster does: one check, from text to text. Nothing is pickled but these two strings."""

import json

from ...runner import SandboxError
from ..make_all import UNFIT
from .job import Job, OtherVersions
from .make import load, make, shared_worker

__all__ = ["check", "load"]
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
