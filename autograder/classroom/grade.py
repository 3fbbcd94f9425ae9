"""``graded-kernels grade``: makes the verdicts that are missing, then has nbgrader grade the class from them."""

import argparse
import json
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from ..instructor.tables import HiddenCasesError
from ..nbgrader.class_seed import ClassSecretError
from ..nbgrader.grade import duration
from ..nbgrader.lock import Lock
from ..nbgrader.points import PointsError
from ..nbgrader.room import fix
from ..nbgrader.standard import MADE_FOR
from ..nbgrader.submission import NotReleased
from ..report.phrases import count
from ..sandbox import SandboxError
from ..verdicts.job import Job
from ..verdicts.store import Store
from ..verdicts.verdict import Verdict
from .cluster import DEATHS, Cluster, NoCluster, local, prepare, remote
from .course import Course, NoCourse, environment
from .task import FAILED, UNFIT
from .waiting import Notebook, notebooks

DONE, FAILURE, USAGE, INTERRUPTED = 0, 1, 2, 130
LOCK = "grade.lock"
LEFT = f"its check ended {DEATHS} of the processes that check answers"
KEPT = "Every verdict that was reached is kept; the same command goes on from here."
REFUSALS = (NoCourse, NotReleased, HiddenCasesError, ClassSecretError, PointsError, SandboxError)


def main(options: argparse.Namespace) -> int:
    if options.scheduler and not options.scheduler.startswith("tls://"):
        tell(f"{options.scheduler} is not encrypted: whoever reaches it can read answers and change verdicts.")
    where = options.course, options.students, options.force
    if options.scheduler:
        return grade(options.assignment, partial(remote, options.scheduler), *where)
    return grade(options.assignment, partial(local, options.workers), *where, prepare)


def grade(
    assignment: str,
    connect: Callable[[str], AbstractContextManager[Cluster]],
    root: Path = Path(),
    students: Sequence[str] = (),
    force: bool = False,
    missing: Callable[[], None] = lambda: None,
) -> int:
    """Grades a class and returns the exit status. connect: a cluster, given the rung of isolation that
    ``nbgrader_config.py`` asks for; it is called if any verdict is missing. students: all where none is named. force:
    grade again what was graded and has not changed. missing: called with the first verdict that is, while the other
    notebooks are still to be read.
    """
    try:
        course = Course(root, assignment, list(students))
        course.grader.tables(course.root)
        with Lock(course.root, LOCK, wait=lambda holder: tell(f"Waiting for another run to end: {holder}")):
            making = Making(Store(course.root, tell), notebooks(course, force), missing)
            if making.queue:
                with connect(course.grader.isolation) as cluster:
                    making.carry_out(cluster)
            tell(making.table())
            return autograde(course, students, force)
    except REFUSALS as error:
        print(f"graded-kernels: {error}", file=sys.stderr)
        return USAGE
    except (NoCluster, OSError, RuntimeError) as error:
        tell(f"Stopped: {str(error).rstrip('.')}.{fix(error)} {KEPT}")
        return FAILURE
    except KeyboardInterrupt:
        tell(f"Stopped. {KEPT}")
        return INTERRUPTED


def tell(sentence: str) -> None:
    print(sentence, flush=True)


def autograde(course: Course, students: Sequence[str], force: bool) -> int:
    """nbgrader's own, in a process of its own, the only one that writes the gradebook. Returns its exit status."""
    command = [sys.executable, "-P", "-m", "nbgrader", "autograde", course.assignment]
    command += [f"--Submissions.students={student}" for student in students] + (["--force"] if force else [])
    made_for = {name: course.standard(name) for name in course.submissions.names(course.assignment)}
    variables = environment() | {MADE_FOR: json.dumps(made_for)}
    with subprocess.Popen(command, cwd=course.root, env=variables) as nbgrader:
        try:
            return nbgrader.wait()
        except KeyboardInterrupt:  # what was sent to this process alone
            nbgrader.send_signal(signal.SIGINT)
            raise


class Making:
    """The verdicts that are missing: the ``queue``; and which notebooks wait for which."""

    def __init__(self, store: Store, waiting: Iterable[Notebook], missing: Callable[[], None] = lambda: None):
        """missing: as `grade` has it."""
        self.store, self.queue, self._missing = store, deque[Job](), missing
        self._known: dict[str, dict | None] = {}  # of every verdict that there is, by its key, what stopped it
        self._wait: dict[str, list[Notebook]] = {}
        self._taken, self._made = Counter[str](), Counter[str]()
        self._seconds, self._odd = defaultdict[str, float](float), Counter[str]()
        self._all = self._ready = 0
        for notebook in waiting:
            self._all += 1
            self._advance(notebook)

    def carry_out(self, cluster: Cluster) -> None:
        where = f"; dashboard: {cluster.dashboard}" if cluster.dashboard else ""
        processes = "1 process" if cluster.threads == 1 else f"{cluster.threads} processes"
        tell(f"{count(len(self.queue), 'verdict')} to make, on {processes}{where}")
        begun = time.monotonic()
        for job, found in cluster.run(self.queue):
            self._keep(job, found)
            waiting = self._wait.pop(job.key)
            if self._known[job.key]:  # a cell that later answers are checked without
                self._withdraw(waiting)
            for notebook in waiting:
                if self._advance(notebook):
                    pace = (time.monotonic() - begun) / sum(self._made.values())
                    left = f", about {duration(len(self._wait) * pace)} left" if self._wait else ""
                    tell(f"[{self._ready}/{self._all}{left}] {notebook.name}")

    def _keep(self, job: Job, found: str | None) -> None:
        """Raises NoCluster, and OSError where the verdict cannot be written."""
        answer = json.loads(found) if found else {}
        if UNFIT in answer:
            raise NoCluster(f"a worker cannot be used: {answer[UNFIT]}")
        if FAILED in answer:
            tell(f"The check of an answer to {job.name} crashed ({answer[FAILED]}). nbgrader leaves it to a person.")
            self._known[job.key] = None
            self._made[job.name] += 1
            return
        verdict = Verdict.from_json(found) if found else Verdict(job.key, job.name, left=LEFT)
        self.store.put(verdict)
        self._known[job.key] = verdict.stopped_in
        self._made[job.name] += 1
        self._seconds[job.name] += verdict.seconds + verdict.grader_seconds
        self._odd["left to a person"] += bool(verdict.left)
        self._odd["to be made again, alone"] += not verdict.final

    def _withdraw(self, notebooks: Sequence[Notebook]) -> None:
        """What these asked for is asked for anew, and what nobody else waits for is not made unless under way."""
        for waiting in self._wait.values():
            waiting[:] = [notebook for notebook in waiting if notebook not in notebooks]
        for job in [job for job in self.queue if not self._wait[job.key]]:
            self.queue.remove(job)
            del self._wait[job.key]

    def _advance(self, notebook: Notebook) -> bool:
        """Asks for the verdicts that it lacks; True where that is none."""
        ready = True
        for job in notebook.jobs(self._known):
            if job.key not in self._known and job.key not in self._wait:
                if verdict := self.store.get(job):
                    self._known[job.key] = verdict.stopped_in
                    self._taken[job.name] += 1
                else:
                    if not self._wait and not self._made:
                        self._missing()
                    self.queue.append(job)
                    self._wait[job.key] = []
            if job.key not in self._known:
                ready = False
                if notebook not in self._wait[job.key]:
                    self._wait[job.key].append(notebook)
        self._ready += ready
        return ready

    def table(self) -> str:
        """What there is now, by answer."""
        lines = [("answer", "there", "made", "processor time")]
        for name in sorted(self._taken | self._made):
            lines.append((name, str(self._taken[name]), str(self._made[name]), f"{self._seconds[name]:.0f} s"))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rows = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in lines]
        odd = [f"{count} {what}" for what, count in self._odd.items() if count]
        summary = f"{count(self._all, 'notebook')} to grade, {count(sum(self._made.values()), 'verdict')} made"
        return "\n".join([f"{', '.join([summary, *odd])}.", *(rows if len(rows) > 1 else [])])
