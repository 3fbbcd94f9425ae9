"""``graded-kernels grade``: makes the verdicts that are missing, then has nbgrader grade the class from them."""

import argparse
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from ..judge import Cluster, Job, Store, Verdict
from ..runner import Answer, SandboxError
from ..words import Exit, Pace, count
from .cluster import local, prepare
from .course import Course, NoCourse
from .nbgrader.class_seed import ClassSecretError
from .nbgrader.disk import fix
from .nbgrader.hidden_cases import HiddenCasesError
from .nbgrader.lock import Lock
from .nbgrader.points import PointsError
from .nbgrader.submission import Notebook, NotReleased, Stop

LOCK = "grade.lock"
KEPT = "Every verdict that was reached is kept; the same command goes on from here."
REFUSALS = (NoCourse, NotReleased, HiddenCasesError, ClassSecretError, PointsError, SandboxError)


def main(options: argparse.Namespace) -> int:
    """Carries out the command and returns its exit status."""
    if options.scheduler and not options.scheduler.startswith("tls://"):
        tell(f"{options.scheduler} is not encrypted: whoever reaches it can read answers and change verdicts.")
    where = options.course, options.students, options.force
    if options.scheduler:
        return grade(options.assignment, partial(Cluster.at, options.scheduler), *where)
    return grade(options.assignment, partial(local, options.workers), *where, prepare)


def grade(
    assignment: str,
    connect: Callable[[str], AbstractContextManager[Cluster]],
    root: Path = Path(),
    students: Sequence[str] = (),
    force: bool = False,
    missing: Callable[[], None] = lambda: None,
) -> int:
    """Grades a class and returns the exit status. connect: a cluster, given the level of isolation that
    ``nbgrader_config.py`` asks for; it is called if any verdict is missing. students: all where none is named. force:
    grade again what was graded and has not changed. missing: called with the first verdict that is, while the other
    notebooks are still to be read.
    """
    try:
        course = Course(root, assignment, list(students))
        course.grader.try_own(course.run.released)
        with Lock(course.root, LOCK, wait=lambda holder: tell(f"Waiting for another run to end: {holder}")):
            making = Making(Store(course.root, tell), course.run.outdated(force), course.job, missing)
            if making.queue:
                with connect(course.grader.isolation) as cluster:
                    making.carry_out(cluster)
            tell(making.table())
            return course.autograde(force)
    except REFUSALS as error:
        print(f"graded-kernels: {error}", file=sys.stderr)
        return Exit.USAGE
    except (OSError, RuntimeError) as error:
        tell(f"Stopped: {str(error).rstrip('.')}.{fix(error)} {KEPT}")
        return Exit.NOT_PASSED
    except KeyboardInterrupt:
        tell(f"Stopped. {KEPT}")
        return Exit.INTERRUPTED


def tell(sentence: str) -> None:
    """Prints the sentence at once."""
    print(sentence, flush=True)


class Making:
    """The verdicts that are missing: the ``queue``; and which notebooks wait for which."""

    def __init__(
        self,
        store: Store,
        waiting: Iterable[Notebook],
        job_of: Callable[[Answer, str], Job],
        missing: Callable[[], None] = lambda: None,
    ):
        """job_of: the job of an answer and its backend; missing: as `grade` has it."""
        self.store, self.queue, self._job_of, self._missing = store, deque[Job](), job_of, missing
        self._known: dict[str, Stop | None] = {}  # of every verdict that there is, by its key, what stopped it
        self._wait: dict[str, list[Notebook]] = {}
        self._taken, self._made = Counter[str](), Counter[str]()
        self._seconds, self._odd = defaultdict[str, float](float), Counter[str]()
        self._all = self._ready = 0
        for notebook in waiting:
            self._all += 1
            self._advance(notebook)

    def carry_out(self, cluster: Cluster) -> None:
        """Makes the verdicts, and tells of each notebook that has all of its own. Raises RuntimeError, OSError."""
        where = f"; dashboard: {cluster.dashboard}" if cluster.dashboard else ""
        processes = "1 process" if cluster.threads == 1 else f"{cluster.threads} processes"
        tell(f"{count(len(self.queue), 'verdict')} to make, on {processes}{where}")
        pace = Pace()
        for job, verdict in self.store.made_on(cluster, self.queue):
            self._note(job, verdict)
            pace.made += 1
            waiting = self._wait.pop(job.key)
            if self._known[job.key]:  # a cell that later answers are checked without
                self._withdraw(waiting)
            for notebook in waiting:
                if self._advance(notebook):
                    tell(f"{pace.text(self._ready, self._all, left=len(self._wait))} {notebook.name}")

    def _note(self, job: Job, verdict: Verdict | str) -> None:
        if isinstance(verdict, str):
            tell(f"The check of an answer to {job.name} crashed ({verdict}). nbgrader leaves it to a person.")
            self._known[job.key] = None
            self._made[job.name] += 1
            return
        self._known[job.key] = verdict.stopped_in
        self._made[job.name] += 1
        self._seconds[job.name] += verdict.seconds + verdict.grader_seconds
        self._odd["left to a person"] += bool(verdict.left)
        self._odd["to be made again, alone"] += not verdict.final

    def _withdraw(self, notebooks: Sequence[Notebook]) -> None:
        """Says what these asked for is asked for anew, and what nobody else waits for is not made unless under way."""
        for waiting in self._wait.values():
            waiting[:] = [notebook for notebook in waiting if notebook not in notebooks]
        for job in [job for job in self.queue if not self._wait[job.key]]:
            self.queue.remove(job)
            del self._wait[job.key]

    def _advance(self, notebook: Notebook) -> bool:
        """Asks for the verdicts that it lacks; True where that is none."""
        lacking = []

        def stopped_in(job: Job) -> Stop | None:
            if job.key not in self._known and job.key not in self._wait:
                self._ask_for(job)
            if job.key not in self._known:
                lacking.append(job)
                if notebook not in self._wait[job.key]:
                    self._wait[job.key].append(notebook)
            return self._known.get(job.key)

        for _ in notebook.jobs(self._job_of, stopped_in):
            pass
        ready = not lacking
        self._ready += ready
        return ready

    def _ask_for(self, job: Job) -> None:
        """Takes the verdict from the store, or puts the job into the queue."""
        if verdict := self.store.get(job):
            self._known[job.key] = verdict.stopped_in
            self._taken[job.name] += 1
            return
        if not self._wait and not self._made:
            self._missing()
        self.queue.append(job)
        self._wait[job.key] = []

    def table(self) -> str:
        """Returns what there is now, by answer."""
        lines = [("answer", "there", "made", "processor time")]
        for name in sorted(self._taken | self._made):
            lines.append((name, str(self._taken[name]), str(self._made[name]), f"{self._seconds[name]:.0f} s"))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rows = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in lines]
        odd = [f"{count} {what}" for what, count in self._odd.items() if count]
        summary = f"{count(self._all, 'notebook')} to grade, {count(sum(self._made.values()), 'verdict')} made"
        return "\n".join([f"{', '.join([summary, *odd])}.", *(rows if len(rows) > 1 else [])])
