"""Makes the verdict on a job in this process."""

import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from ...runner import CandidateError, CompareError, LineServer, SandboxError, Trouble
from ...words import UsageError, keep_stdout
from ..records.settings import Settings
from ..results.causes import Cause
from ..verdicts.job import UNFIT, OtherVersions
from ..verdicts.make import shared_worker
from .code import Code
from .comparison import LIMITS, judged, kinds_of, reproduce
from .kernelbench import NEW
from .lines import JobLines
from .method import KINDS
from .pair import How
from .table_job import ComparisonJob, Side, read
from .table_line import TEXT, about, without_report

CAUSES = 8  # that a verdict tells of


def verdict(job: ComparisonJob) -> dict[str, Any]:
    """Returns what `compare` finds, as JSON has it; why not, where it cannot compare."""
    began, busy = time.monotonic(), time.process_time()
    try:
        with _named(job) as (reference, candidate, arguments):
            worker = shared_worker("", isolated=False) if job.isolated else None
            lines, options = JobLines(job.table, job.id, job.isolated), job.options
            settings = Settings("triton", job.seed, options.compiler, require=options.only)
            how = How(settings, job.isolated, None, worker, LIMITS, _gradients(job))
            report = judged(
                *(reference, candidate, arguments, job.like, how, lines),
                options.without,
                KINDS if options.any_method else kinds_of(options.computes),
            )
    except CandidateError as error:
        result = without_report("candidate", str(error), score=0.0)
    except CompareError as error:
        result = without_report("job", str(error))
    except SandboxError:
        raise
    except Exception as error:
        result = without_report("job", f"the comparison stopped with {type(error).__name__}: {error}")
    else:
        # A candidate that computed too long did so by itself, and what it did not reach is wrong.
        own_time = any(case.code == Trouble.OWN_TIME for case in report.cases)
        late = report.timed_out and not report.passed and not own_time
        counts = {what: 0 for what in ("pass", "fail", "error", "not-run")}
        for case in report.cases:
            counts[case.status] += 1
        result = {
            "status": "timeout" if late else "judged",
            "passed": report.passed,
            "correct": report.correct,
            "portable": report.portable,
            "efficient": report.efficient,
            "computes": report.computes,
            "score": None if late else round(report.score, 4),
            "message": f"{report.summary}. {report.remarks[0]}"[:TEXT],
            "families": {
                "passed": counts["pass"],
                "failed": counts["fail"] + counts["error"],
                "not_run": counts["not-run"],
            },
            "causes": [_told(cause) for cause in report.causes[:CAUSES]],
        }
    took = {"wall": round(time.monotonic() - began, 2), "processor": round(time.process_time() - busy, 2)}
    return about(job) | result | {"final": result["status"] != "timeout", "seconds": took}


def _told(cause: Cause) -> dict[str, Any]:
    """A cause: what is wrong, in which families, and of the first what its inputs were and the worst element."""
    case, worst = cause.cases[0], cause.cases[0].failure
    return {
        "kind": cause.kind,
        "message": cause.message[:TEXT],
        "families": [family.name for family in cause.cases],
        "inputs": case.hint,
        "worst": worst
        and {"output": worst.output, "index": worst.index, "got": str(worst.got), "expected": str(worst.expected)},
        "repeat": case.repeat,
    }


@contextlib.contextmanager
def _named(job: ComparisonJob) -> Iterator[tuple[str, str | Code, str | None]]:
    """The job's sides as `compare` takes them. What they import is forgotten afterwards: another job may have a file of
    the same name. Raises CompareError.
    """
    for side in filter(None, (job.reference, job.candidate, job.arguments)):
        if side.file and not side.text:
            raise CompareError(f"{side.file} cannot be read: there is no such file, or it is empty or not text")
    modules, path = set(sys.modules), list(sys.path)
    with tempfile.TemporaryDirectory(prefix="compare-") as folder:
        try:
            candidate: str | Code
            if job.isolated:
                candidate = _code(job.candidate)
            else:
                candidate = _named_in(job.candidate, Path(folder), f"candidate_{job.key[:12]}")
            reference = _named_in(job.reference, Path(folder), f"reference_{job.key[:12]}")
            drawing = job.arguments
            arguments = _named_in(drawing, Path(folder), f"reference_{job.key[:12]}") if drawing else None
            yield reference, candidate, arguments
        finally:
            added = {Path(entry) for entry in (*sys.path, folder) if entry not in path} | {Path.cwd()}
            sys.path[:] = path
            for name in set(sys.modules) - modules:
                if _below(getattr(sys.modules[name], "__file__", None), added):
                    del sys.modules[name]


def _below(file: str | None, folders: set[Path]) -> bool:
    return bool(file) and "site-packages" not in str(file) and any(Path(str(file)).is_relative_to(f) for f in folders)


def _code(side: Side) -> Code:
    if not side.text:
        raise CandidateError(f"an isolated candidate is a file or a text, not {side.named}")
    return Code(side.text, side.name or NEW, side.file or "candidate.py")


def _named_in(side: Side, folder: Path, stem: str) -> str:
    """``FILE.py:NAME``; a text that is in no file of this machine is written into the folder."""
    if not side.text or (side.file and Path(side.file).is_file() and Path(side.file).read_text("utf-8") == side.text):
        return side.named
    number = sum(1 for _ in folder.iterdir())
    same = [path for path in folder.iterdir() if path.read_text("utf-8") == side.text]
    file = same[0] if same else folder / f"{stem}_{number}.py"
    file.write_text(side.text, "utf-8")
    return f"{file}:{side.name}" if side.name else str(file)


def _gradients(job: ComparisonJob) -> bool | None:
    return False if job.options.forward_only else None


def reproduce_job(table: str, id: str | int, *, family: str, number: int, isolated: bool = False) -> Any:
    """Returns what `reproduce` returns for a family of the job of this id in a table. Raises CompareError."""
    try:
        jobs = {job.id: job for job in read(table, isolated)}
    except UsageError as error:
        raise CompareError(str(error)) from None
    if id not in jobs:
        raise CompareError(f"{table} has no job {id!r}")
    job = jobs[id]
    with _named(job) as sides:
        return reproduce(
            *sides,
            like=job.like,
            without=job.options.without,
            family=family,
            number=number,
            gradients=_gradients(job),
        )


def main() -> None:
    """Answers each line of stdin with one of stdout, until there is no more."""
    answers: TextIO = keep_stdout()
    for line in LineServer.questions():
        try:
            result = verdict(ComparisonJob.from_json(line))
        except (OtherVersions, SandboxError) as error:
            result = {UNFIT: str(error)}
        print(json.dumps(result), file=answers, flush=True)
