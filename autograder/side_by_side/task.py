"""What a worker of a Dask cluster does: a verdict, from text to text, in a process of its own that it keeps."""

import atexit
import functools
import json

from .job import Job
from .process import Process, Unfit

SECONDS = 300.0  # of processor time for a job


def made(job: str, rung: str) -> str:
    """The verdict on a job, both as JSON, or ``{"unfit": reason}``. rung: of no account here."""
    try:
        return json.dumps(_process().verdict(Job.from_json(job)))
    except Unfit as error:
        return json.dumps({"unfit": str(error)})


@functools.cache
def _process() -> Process:
    process = Process(SECONDS)
    atexit.register(process.close)
    return process
