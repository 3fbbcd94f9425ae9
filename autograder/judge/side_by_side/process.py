"""A process that makes verdicts, one at a time, within limits. One that ends, or is ended, is replaced."""

import json
import os
import tempfile
from typing import Any, Self

from ...runner import LineServer
from ..verdicts.job import UNFIT
from ..verdicts.make_all import NoWorker
from .table_job import ComparisonJob
from .table_line import about, without_report

WALL = 10  # times the limit of processor time by the clock: a busy machine is not the job's fault
LAST = 300  # characters of what a process said before it ended


class TableProcess:
    """seconds: of processor time for a job, the candidate's own in the sandbox not counted. What a process that was
    ended left in its folder for temporary files is removed.
    """

    def __init__(self, seconds: float):
        self.seconds = seconds
        self._said = tempfile.TemporaryFile()
        self._folder = tempfile.TemporaryDirectory(prefix="compare-", ignore_cleanup_errors=True)
        # One thread: there is a process for every core.
        variables = {"OMP_NUM_THREADS": "1", "TMPDIR": self._folder.name}
        self._closed = False
        self._server = LineServer(f"{__package__}.table_worker", os.environ | variables, self._said)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        self._said.close()

    def close(self) -> None:
        """Ends the process. Another thread may wait for its answer, and closes as well when it ends."""
        self._closed = True
        self._server.close()
        self._folder.cleanup()

    def verdict(self, job: ComparisonJob) -> dict[str, Any]:
        """The verdict on a job, whatever it does to the process. Raises NoWorker."""
        self._said.seek(0)
        self._said.truncate()
        try:
            verdict: dict[str, Any] = json.loads(next(self._server.ask(job.to_json(), self._late)))
        except (EOFError, ValueError) as error:
            late = str(error) if isinstance(error, EOFError) else ""
            self._empty()
            status, why = ("timeout", late) if late else ("crashed", self._last_words())
            return about(job) | without_report(status, why) | {"final": False}
        if UNFIT in verdict:
            raise NoWorker(verdict[UNFIT])
        return verdict

    def _empty(self) -> None:
        """Removes what the process left that ended."""
        self._folder.cleanup()
        if not self._closed:
            os.mkdir(self._folder.name, 0o700)

    def _last_words(self) -> str:
        self._said.seek(0)
        last = self._said.read().decode(errors="replace").strip().rpartition("\n")[2][-LAST:]
        return f"the process that compared them ended{f': {last}' if last else ''}"

    def _late(self, processor: float, wall: float) -> str:
        if processor > self.seconds:
            return f"the comparison took more than {self.seconds:g} s of processor time (--seconds sets the limit)"
        if wall > WALL * self.seconds:
            return f"the comparison did not end within {WALL * self.seconds:g} s by the clock: does something wait?"
        return ""
