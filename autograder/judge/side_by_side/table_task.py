"""Work of a Dask cluster's worker: a verdict, from text to text, in a process that each of its threads keeps."""

import atexit
import functools
import json
import threading

from ..verdicts.job import UNFIT, OtherVersions
from ..verdicts.make_all import NoWorker
from .process import TableProcess
from .table_job import ComparisonJob


def made(job: str, level: str, seconds: float) -> str:
    """The verdict on a job, both as JSON, or ``{"unfit": reason}``. level: not used. seconds: of processor
    time that the job may take.
    """
    process = _process(threading.get_ident())
    process.seconds = seconds
    try:
        return json.dumps(process.verdict(ComparisonJob.from_json(job)))
    except (NoWorker, OtherVersions) as error:
        return json.dumps({UNFIT: str(error)})


@functools.cache
def _process(thread: int) -> TableProcess:
    process = TableProcess(seconds=0.0)
    atexit.register(process.close)
    return process
