"""``graded-kernels compare --table``: a job a line in, a verdict a line out, as each is made."""

import argparse
import contextlib
import functools
import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from ...words import Exit, Pace, Terminal, UsageError, count, visible
from ..side_by_side.process import TableProcess
from ..side_by_side.table_job import ComparisonJob, read
from ..side_by_side.table_line import about, is_final, without_report
from ..verdicts.make_all import NoWorker, make_all

EVERY = 30.0  # seconds between two lines about the progress, where no terminal shows one that changes
BEGINS = b'{"id": '  # a verdict's line
LEFT = "the comparison ended every process that began it"

Made = Iterator[tuple[ComparisonJob, dict[str, Any]]]


def main(options: argparse.Namespace) -> int:
    """Makes the verdicts that are missing, and returns the exit status: 0 where every job has one that is final. Raises
    UsageError.
    """
    jobs = read(options.table, options.isolated)
    with VerdictFile(options.output) as output:
        left = deque(job for job in jobs if (job.id, job.key) not in output.final)
        final = len(jobs) - len(left)
        progress = TableProgress(len(jobs), final)
        try:
            for job, verdict in _made(left, options):
                output.write(verdict)
                final += verdict["final"]
                progress.made(job, verdict)
        except NoWorker as error:
            raise UsageError(str(error)) from None
        except KeyboardInterrupt:
            progress.end(f"Stopped. {output.kept}")
            raise
        except BrokenPipeError:
            raise
        except OSError as error:  # the disk is full, say
            progress.end(f"Stopped: {error}. {output.kept}")
            return Exit.NOT_PASSED
        progress.end("")
    return Exit.PASSED if final == len(jobs) else Exit.NOT_PASSED


def _made(jobs: "deque[ComparisonJob]", options: argparse.Namespace) -> Made:
    if not jobs:
        return
    if options.scheduler:
        yield from _by_dask(jobs, options.scheduler, options.seconds)
    else:
        yield from _on_this_machine(jobs, min(options.jobs or os.cpu_count() or 1, len(jobs)), options.seconds)


def _on_this_machine(jobs: "deque[ComparisonJob]", processes: int, seconds: float) -> Made:
    """On this machine: each of the processes takes the next job. Raises NoWorker."""
    with contextlib.ExitStack() as stack:
        every = [stack.enter_context(TableProcess(seconds)) for _ in range(processes)]

        def stop() -> None:
            for process in every:  # nobody waits for the verdicts that are being made
                process.close()

        yield from make_all(jobs, [process.verdict for process in every], stop)


def _by_dask(jobs: "deque[ComparisonJob]", address: str, seconds: float) -> Made:
    """On a cluster that Dask leads. Raises NoWorker, and UsageError where Dask is missing."""
    try:
        from ..verdicts.scheduler import Cluster
    except ImportError:
        raise UsageError("--scheduler needs Dask: pip install distributed") from None
    from ..side_by_side.table_task import made

    if not address.startswith("tls://"):
        print(f"{address} is not encrypted: whoever reaches it can read the jobs and change verdicts.", file=sys.stderr)
    with Cluster.at(address, "") as cluster:
        for job, verdict in cluster.run(jobs, functools.partial(made, seconds=seconds)):
            yield job, verdict or about(job) | without_report("crashed", LEFT) | {"final": False}


class VerdictFile:
    """Where the verdicts go: stdout, or a file that is continued. final: id and key of those in it that are."""

    def __init__(self, path: str | None):
        self.final: set[tuple[str | int, str]] = set()
        self._path = path
        self._file: TextIO = sys.stdout

    @property
    def kept(self) -> str:
        """Returns what becomes of the verdicts so far."""
        if self._path:
            return f"{self._path} has every verdict that was made; the same command goes on from here."
        return "With --output FILE in place of a redirection the same command would go on from here."

    def __enter__(self) -> "VerdictFile":
        """Raises UsageError where the file has something else than verdicts, or cannot be written."""
        if self._path:
            try:
                end = self._read(Path(self._path)) if Path(self._path).exists() else 0
                self._file = open(self._path, "a", encoding="utf-8")
                self._file.truncate(end)
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"{self._path} cannot be written: {error}") from None
        return self

    def __exit__(self, *error: object) -> None:
        if self._path:
            with contextlib.suppress(OSError):  # of what was not written before, and is not missed: it is made again
                self._file.close()

    def _read(self, path: Path) -> int:
        """Notes the verdicts, and returns where the last whole line ends: the run before may have been ended in one.
        Raises UsageError where a line is no verdict, or no beginning of one.
        """
        other = f"of {path} is not a verdict of compare: name another file with --output"
        end = 0
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    if line[: len(BEGINS)] != BEGINS[: len(line)]:
                        raise UsageError(f"line {number} {other}")
                    break
                end += len(line)
                try:
                    data = json.loads(line)
                    if is_final(data):
                        self.final.add((data["id"], data["key"]))
                except ValueError:
                    raise UsageError(f"line {number} {other}") from None
        return end

    def write(self, verdict: dict[str, Any]) -> None:
        """Writes a verdict, at once."""
        print(json.dumps(verdict), file=self._file, flush=True)


class TableProgress:
    """Holds how far it is, on stderr: a line of a terminal that changes, else one from time to time."""

    def __init__(self, jobs: int, done: int):
        self.jobs, self.there, self.odd = jobs, done, 0
        self.pace = Pace()
        self.told = self.pace.begun
        self.line = Terminal(sys.stderr) if sys.stderr.isatty() else None
        if done:
            print(f"{count(done, 'verdict')} of {jobs} there already", file=sys.stderr)
        if self.line and done < jobs:
            self.line.show(f"[{done}/{jobs}] starting")

    def made(self, job: ComparisonJob, verdict: dict[str, Any]) -> None:
        """Notes a verdict."""
        self.pace.made += 1
        self.odd += verdict["status"] != "judged"
        now = time.monotonic()
        odd = f", {self.odd} not judged" if self.odd else ""
        text = f"{self.pace.text(self.there + self.pace.made, self.jobs, odd=odd)} {visible(str(job.id))}"
        if self.line:
            self.line.show(text)
        elif now - self.told >= EVERY:
            self.told = now
            print(text, file=sys.stderr, flush=True)

    def end(self, sentence: str) -> None:
        """Takes the line away, and says what there is to say."""
        if self.line:
            self.line.clear()
        if not sentence:
            odd = f", {self.odd} not judged (their lines say why)" if self.odd else ""
            sentence = f"{count(self.pace.made, 'verdict')} made in {Pace.duration(self.pace.seconds)}{odd}."
        print(sentence, file=sys.stderr)
