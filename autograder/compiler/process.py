"""Starts the worker and listens to it. What it says is JSON; a worker that dies or hangs costs one job."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_WORKER = Path(__file__).with_name("worker.py")
# No TRITON_INTERPRET, and nothing else that would change what the compiler does or show it the user's secrets.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
_LINE_LIMIT = 64 << 20


class CannotCompile(Exception):
    """Why this machine has no compiler report."""


class _Stopped(Exception):
    """The worker is gone: the sentence says how."""


def run_jobs(modules: list[dict], jobs: list[dict], job_limit: float = 60.0) -> Iterator[tuple[int, dict]]:
    """Compile; yields (index of the job, answer), in any order. An answer with ``lost`` says why there is no other.

    job_limit: seconds after which one compilation is given up. Raises CannotCompile where the worker cannot even begin.
    """
    waiting = dict(enumerate(jobs))
    while waiting:
        order, started = list(waiting), None
        try:
            for answer in _worker(modules, [waiting[i] for i in order], job_limit):
                if "start" in answer:
                    started = order[answer["start"]]
                if "done" in answer:
                    index = order[answer.pop("done")]
                    del waiting[index]
                    yield index, answer
            stopped = "ended"
        except _Stopped as reason:
            stopped = str(reason)
        if waiting and started is None:
            raise CannotCompile(f"the compiler {stopped} before its first kernel")
        if waiting:
            lost = started if started in waiting else next(iter(waiting))
            del waiting[lost]
            yield lost, {"lost": stopped}


def _worker(modules: list[dict], jobs: list[dict], job_limit: float) -> Iterator[dict]:
    with tempfile.TemporaryDirectory(prefix="graded-kernels-compiler-") as folder:
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        environment |= {"TRITON_CACHE_DIR": folder, "TRITON_HOME": folder, "TMPDIR": folder}
        request = Path(folder) / "request.json"
        request.write_text(json.dumps({"modules": modules, "jobs": jobs}), encoding="utf-8")
        with request.open("rb") as stdin:
            process = subprocess.Popen(
                [sys.executable, "-P", str(_WORKER)],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )
        try:
            yield from _answers(process, job_limit)
        finally:
            # The whole group: ptxas and the disassembler are the worker's children.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.stdout.close()
            process.wait()


def _answers(process: subprocess.Popen, job_limit: float) -> Iterator[dict]:
    rest, deadline = b"", time.monotonic() + job_limit
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
            raise _Stopped(f"had not finished after {job_limit:.0f} s")
        chunk = os.read(process.stdout.fileno(), 1 << 20)
        if not chunk:
            break
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LINE_LIMIT:
            raise _Stopped("wrote more than can be read")
        for line in lines:
            try:
                answer = json.loads(line)
            except ValueError:
                raise _Stopped("wrote something that is no answer") from None
            if "unavailable" in answer:
                raise CannotCompile(answer["unavailable"])
            deadline = time.monotonic() + job_limit
            yield answer
    code = process.wait()
    if code:
        raise _Stopped(f"died ({signal.Signals(-code).name})" if code < 0 else f"stopped with exit status {code}")
