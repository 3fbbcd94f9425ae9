"""Makes a verdict: the answer is checked in the sandbox of this process, and what was found becomes data."""

import atexit
import contextlib
import functools
import gc
import html
import json
import os
import platform
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ...runner import Budget, SandboxError, Worker
from ...words import no_garbage
from ..checking.check import check_answer
from ..records.settings import Settings
from .job import UNFIT, Job, OtherVersions
from .verdict import LATE, LOST, Verdict

if TYPE_CHECKING:  # where every verdict is there, PyTorch is not imported
    from ..report.report import Report

LONGEST = 1_000_000  # characters of a report's HTML; an answer may raise an error with a message of any length
_CUT = 2_000  # characters that are kept of each text in the data of such a report

FAILED = "failed"  # the key of an answer of `check` that is no verdict, because the check crashed

_shared: Worker | None = None


def make_verdict(job: Job, worker: Worker, checks: int = 1, notebook: Budget | None = None) -> Verdict:
    """Checks the answer. checks: how many times it will have been checked with this one. notebook: what all answers of
    a notebook may take together, of which this check takes its part.
    """
    preload()
    began, busy, lost = time.monotonic(), time.process_time(), worker.lost
    notebook = notebook or Budget("notebook", float("inf"))
    spent, compiling, forking = notebook.spent, worker.compiler.spent, worker.spent
    record, cases = job.record_and_cases(job.answer.exercise, job.record, job.cases)
    report = check_answer(
        job.answer,
        Settings(job.backend, job.seed),
        worker=worker,
        limits=job.limits,
        notebook=notebook,
        cases=cases,
        record=record,
    )
    doubt = "" if report.passed else LATE if report.timed_out else LOST if worker.lost > lost else ""
    text, page, data = shown(report)
    return Verdict(
        job.key,
        job.name,
        data,
        text,
        page,
        round(notebook.spent - spent + worker.compiler.spent - compiling, 3),
        round(time.process_time() - busy + worker.spent - forking, 3),
        round(time.monotonic() - began, 3),
        datetime.now(UTC).isoformat(timespec="seconds"),
        f"{platform.node()}:{os.getpid()}",
        checks,
        doubt,
    )


def check(job: str, level: str) -> str:
    """Returns what a worker of a cluster does: the verdict on a job, both as JSON; or ``{"unfit": reason}`` or
    ``{"failed": reason}``. level: as `shared_worker` has it.
    """
    try:
        wanted = Job.from_json(job)
        worker = shared_worker(level, wanted.isolated)
    except (OtherVersions, SandboxError) as error:
        return json.dumps({UNFIT: str(error)})
    try:
        return make_verdict(wanted, worker).to_json()
    except Exception as error:  # nbgrader's autograde meets it again, and leaves the answer to a person
        return json.dumps({FAILED: f"{type(error).__name__}: {error}"[:2000]})


@functools.cache
def preload(shared: bool = False) -> None:
    """Imports what every check needs, so that no answer is charged those seconds. shared: for all processes that are
    forked from this one, and so with what draws the picture of an answer that fails and what is tried of the sandbox.
    """
    with no_garbage():
        from ...runner import Compiler, InProcess, Isolated  # noqa: F401
        from ..checking import judge  # noqa: F401
        from ..records import table  # noqa: F401
        from ..report import notebook, report  # noqa: F401

        if shared:
            from ..report import plot  # noqa: F401

            with contextlib.suppress(SandboxError):  # which each of them will meet
                Worker()  # is not started: what it tries of this machine is then known to all
    atexit.register(gc.freeze)  # a process that ends looks through all that is imported for a second, and finds nothing


def shown(report: "Report") -> tuple[str, str, dict[str, Any]]:
    """The report as text, as HTML and as data without what it cost: the same answer, checked again, gives the same.
    Its points, which a teacher may weigh otherwise, are in none of the pages.

    The error of an answer that passed is not drawn: that takes a tenth of a check's time, and in the notebook the check
    draws it. What compilers made of it stands in the text alone.
    """
    from ..report import notebook, terminal

    text, data = terminal.render(report, color=False, points=False, details=True), report.to_dict()
    page = notebook.render(report, graded=True)
    for target in (data["compile"] or {}).get("targets", ()):
        del target["seconds"], target["cached"]
    if len(page) <= LONGEST:
        return text, page, data
    text = text[: LONGEST // 10]
    return text, f"<pre>{html.escape(text)}</pre>", _cut(data)


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _cut(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_cut(part) for part in value]
    return value[:_CUT] if isinstance(value, str) else value


def shared_worker(level: str, isolated: bool, start: bool = True) -> Worker:
    """The process in which all answers are called that this process has checked, each in children of its own.

    level: the best there is where it is "". isolated: whether it has to keep answers from files and network. start:
    now, so that its imports go on during other work; else with the first answer. Raises SandboxError.
    """
    global _shared
    if _shared is None:
        worker = Worker(level or None, isolated=isolated)
        if isolated and level == "weak":
            raise SandboxError("c.Grade.isolation is weak, and c.Grade.allow_weak_sandbox is not set")
        _shared = worker
        atexit.register(_shared.close)
    if start:
        _shared.start()
    return _shared
