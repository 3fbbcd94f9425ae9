"""A process that makes verdicts, one at a time, within limits. One that ends, or is ended, is replaced."""

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from typing import Any

from .job import Job
from .verdict import about, without_report

TICK = 0.2  # seconds between two looks at a process
WALL = 10  # times the limit of processor time by the clock: a busy machine is not the job's fault
LAST = 300  # characters of what a process said before it ended


class Unfit(Exception):
    """No process can make verdicts here; the message says why."""


class Process:
    """seconds: of processor time for a job, the candidate's own in the sandbox not counted. What a process that was
    ended left in its folder for temporary files is removed.
    """

    def __init__(self, seconds: float):
        self.seconds = seconds
        self._running: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._said = tempfile.TemporaryFile()

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        self._said.close()

    def close(self) -> None:
        """Ends the process. Another thread may wait for its answer, and closes as well when it ends."""
        running, self._running, folder, self._folder = self._running, None, self._folder, None
        if running:
            running.kill()
            running.wait()
            for pipe in (running.stdin, running.stdout):
                if pipe:
                    with contextlib.suppress(OSError):
                        pipe.close()
        if folder:
            folder.cleanup()

    def verdict(self, job: Job) -> dict[str, Any]:
        """The verdict on a job, whatever it does to the process. Raises Unfit."""
        found = self._answer(job)
        if isinstance(found, dict):
            if "unfit" in found:
                raise Unfit(found["unfit"])
            return found
        status, message = found
        return about(job) | without_report(status, message) | {"final": False}

    def _answer(self, job: Job) -> dict[str, Any] | tuple[str, str]:
        """What the process answers, or a status and why there is no answer."""
        running = self._started()
        assert running.stdin and running.stdout
        self._said.seek(0)
        self._said.truncate()
        began, before, text = time.monotonic(), _processor(running.pid), b""
        try:
            running.stdin.write(job.to_json().encode() + b"\n")
            running.stdin.flush()
            while not text.endswith(b"\n"):
                if select.select([running.stdout], [], [], TICK)[0]:
                    chunk = os.read(running.stdout.fileno(), 1 << 20)
                    if not chunk:
                        break
                    text += chunk
                elif late := self._late(_processor(running.pid) - before, time.monotonic() - began):
                    self.close()
                    return "timeout", late
            if text.endswith(b"\n"):
                answer: dict[str, Any] = json.loads(text)
                return answer
        except (OSError, ValueError):
            pass
        self.close()
        self._said.seek(0)
        last = self._said.read().decode(errors="replace").strip().rpartition("\n")[2][-LAST:]
        return "crashed", f"the process that compared them ended{f': {last}' if last else ''}"

    def _late(self, processor: float, wall: float) -> str:
        if processor > self.seconds:
            return f"the comparison took more than {self.seconds:g} s of processor time (--seconds sets the limit)"
        if wall > WALL * self.seconds:
            return f"the comparison did not end within {WALL * self.seconds:g} s by the clock: does something wait?"
        return ""

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._running is None or self._running.poll() is not None:
            self.close()
            self._folder = tempfile.TemporaryDirectory(prefix="compare-", ignore_cleanup_errors=True)
            self._running = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.make"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                start_new_session=True,  # Ctrl-C is for whoever waits
                env=os.environ | {"OMP_NUM_THREADS": "1", "TMPDIR": self._folder.name},  # a process for every core
            )
        return self._running


def _processor(pid: int) -> float:
    """Seconds of processor time of a process so far; 0 where the system does not say."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
