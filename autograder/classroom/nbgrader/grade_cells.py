"""Grading in place of running: every check cell gets the report on its answer, and the score that nbgrader records.

No cell of the notebook is executed, least of all a check cell. nbgrader takes a score from a check cell's output, and
counts one that it cannot read as full marks; so those outputs are written here (`pages`) and nowhere else.
"""

import functools
import os
import time
from pathlib import Path
from typing import Any

from nbconvert.exporters.exporter import Exporter, ResourcesDict
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades
from nbgrader.utils import compute_checksum, is_solution, is_task
from traitlets import Bool, Dict, Enum, Float, Integer, Unicode

from ...judge import Job, Store, Verdict, make_verdict, shared_worker
from ...runner import Answer, Budget, Cell, Limits, Worker
from ...words import count
from . import by_hand, hidden_cases, interrupt
from .class_seed import class_seed
from .notebook_code import prying
from .notebook_file import MEGABYTE, beginning
from .pages import NotGradable, not_graded, notes_of, notes_output, result, shown_verdict, why_not_graded
from .points import costs_of
from .rebuild import MOVED, NOT_GRADED, RECORD, exercise_of, grade_id, is_added, is_answer, is_check
from .submission import CheckCell, NotReleased, Released, Stop


class Grade(NbGraderPreprocessor):
    """Takes the place of nbgrader's ``Execute``. A check that crashes is left to a person; the others are graded."""

    seed = Integer(
        None, allow_none=True, help="Seed of the random inputs; left out, it is drawn from the secret of the class."
    ).tag(config=True)
    seconds = Float(20.0, help="Processor time that one call of an answer may take.").tag(config=True)
    total_seconds = Float(120.0, help="Processor time that all calls for one exercise may take.").tag(config=True)
    notebook_seconds = Float(1200.0, help="Processor time that all answers of a notebook may take.").tag(config=True)
    wall_factor = Float(10.0, help="How many times as long each of these may take by the clock.").tag(config=True)
    memory_megabytes = Float(2048.0, help="What an answer may hold besides its inputs and outputs.").tag(config=True)
    points = Dict(key_trait=Unicode(), help="Your own points: name of an answer or a question -> points.").tag(
        config=True
    )
    costs = Dict(key_trait=Unicode(), help="What failures cost, of 100 points, where yours differ.").tag(config=True)
    hidden_cases = Unicode("hidden_cases", help="Folder in the course root: your own cases, never released.").tag(
        config=True
    )
    isolation = Enum(
        ("", *reversed(Worker.LEVELS)), "", help="strong, good or weak; left empty, the best there is here."
    ).tag(config=True)
    allow_weak_sandbox = Bool(False, help="Grade even where answers cannot be kept from files and network.").tag(
        config=True
    )

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """The notebook with a report and a score below each check cell; none where the submission was not read."""
        started, earned, possible, failed = time.monotonic(), 0.0, 0.0, []
        where, run = resources["nbgrader"], self.parent.parent
        notebook, checks = run.notebook, 0
        self._known, self._stopped = 0, dict[str, str]()
        self._budget = Budget("notebook", self.notebook_seconds)
        self._store = Store(self._root, self.log.warning)
        for index, cell in enumerate(nb.cells):
            if notebook.unread or not is_check(cell):
                continue
            interrupt.raise_if_asked()
            points = float(cell.metadata.nbgrader["points"])
            possible, checks = possible + points, checks + 1
            try:
                check = notebook.check(grade_id(cell))
                score, cell.outputs = self._graded(nb, index, check, run.released)
                earned += score
            except (Exception, SystemExit) as error:
                if not isinstance(error, NotGradable):
                    self.log.exception("%s could not be graded", grade_id(cell))
                cell.outputs = not_graded(error)
                cell.metadata.setdefault(RECORD, {})[NOT_GRADED] = True
                failed.append(f"{notebook.name}: {grade_id(cell)} could not be graded: {why_not_graded(error)}")
        line = f"{self._progress(where)}{notebook.name}: "
        if notebook.unread:
            self.log.info("%snot graded, waits for a person", line)
            return nb, resources
        seconds = time.monotonic() - started
        more = f", {self._known} of {checks} verdicts were there" if self._known else ""
        more += f", {count(len(failed), 'check')} could not be graded" if failed else ""
        self.log.info("%s%g of %g points in %.1f s%s", line, earned, possible, seconds, more)
        run.judged += 1
        run.summary.for_a_person += failed
        run.summary.odd += [f"{notebook.name}: {reason}" for reason in self._stopped.values()]
        self._list_published(nb, notebook.name)
        if names := sorted({name for cell in nb.cells if is_answer(cell) or is_added(cell) for name in prying(cell)}):
            run.summary.prying.append(f"{notebook.name}: {', '.join(names)}")
        return nb, resources

    def _list_published(self, nb: NotebookNode, name: str) -> None:
        """Lists for the teacher the answers that are those of the course; the feedback does not say it."""
        same = [grade_id(cell) for cell in nb.cells if cell.metadata.get(RECORD, {}).get("published")]
        if same:
            self.parent.parent.summary.published.append(f"{name}: {', '.join(same)}")

    def _graded(
        self, nb: NotebookNode, index: int, check: CheckCell, released: Released
    ) -> tuple[float, list[NotebookNode]]:
        """The points of the check cell at ``index``, and what it shows. Raises NotGradable."""
        verdicts: dict[str, Verdict] = {}

        def stopped_in(job: Job) -> Stop | None:
            verdicts[job.key] = self._verdict(job)
            return verdicts[job.key].stopped_in

        job = check.job(self._stopped, functools.partial(self.job, released), stopped_in)
        verdict, points = verdicts[job.key], float(nb.cells[index].metadata.nbgrader["points"])
        if verdict.left:
            raise NotGradable(verdict.left)
        nb.cells[index].metadata.setdefault(RECORD, {})["verdict"] = verdict.key
        scored = verdict.points(costs_of(self.costs))
        score = min(round(points * scored.score, 2), points)
        answer = next(c for c in nb.cells[:index] if f"{grade_id(c)}-check" == grade_id(nb.cells[index]))
        kept = job.answer.cells
        notes = [
            f"{self._stopped[cell.name]} This answer was checked {_with(cell, kept)}.{beginning(cell.source)}"
            for cell in check.answer.cells
            if cell not in kept
        ]
        shown = [notes_output(notes)] if notes else []
        return score, [
            *notes_of(answer),
            *shown,
            *shown_verdict(verdict, scored),
            result(score, points, verdict.cost_lines(scored)),
        ]

    def _verdict(self, job: Job) -> Verdict:
        """The one in the course's store, or a new one, which is kept there. What depends on the time that the other
        answers of the notebook took counts here alone.
        """
        if self._exhausted():
            return self._make(job, 1)
        before = self._budget.spent, self._budget.waited
        try:
            verdict, there = self._store.settled(job, self._make)
        except _NotebookLate as late:
            return late.verdict
        self._known += there
        self._budget.spent, self._budget.waited = before[0] + verdict.seconds, before[1] + verdict.clock
        return verdict

    def _make(self, job: Job, checks: int) -> Verdict:
        """Raises _NotebookLate where the notebook's time ran out on the way."""
        known = self._exhausted()
        verdict = make_verdict(job, shared_worker(self.isolation, job.isolated), checks, self._budget)
        if self._exhausted() and not known:
            raise _NotebookLate(verdict)
        return verdict

    def _exhausted(self) -> bool:
        return self._budget.broken(self.wall_factor) is not None

    def ready(self, released: Released, start: bool = True) -> None:
        """Tries what every notebook of a run will need. start: as `shared_worker` has it. Raises SandboxError,
        HiddenCasesError, NotReleased, ClassSecretError, PointsError.
        """
        costs_of(self.costs)
        self.try_own(released)
        self._seed(released.root, "")
        shared_worker(self.isolation, not self.allow_weak_sandbox, start)

    def try_own(self, released: Released) -> None:
        """Tries the teacher's own cases, and the records that were released. Raises HiddenCasesError, NotReleased."""
        records = released.records()
        for name, path in records.items():
            try:
                Job.record_and_cases(name, released.record(name))
            except ValueError as error:
                raise NotReleased(f"{path.parent}: {error}") from None
        cases = self.own_cases(released.root)
        hidden_cases.try_all(
            released.root / self.hidden_cases, cases, {name: released.record(name) for name in cases if name in records}
        )

    def job(self, released: Released, answer: Answer, backend: str) -> Job:
        """The check of an answer in the assignment. Raises as `ready` does."""
        cases, record = self.own_cases(released.root).get(answer.exercise, ""), released.record(answer.exercise)
        isolated = not (self.allow_weak_sandbox and self.isolation in ("", "weak"))
        seed = self._seed(released.root, released.assignment)
        return Job(answer, backend, seed, self._limits(), cases, isolated, record)

    @property
    def _root(self) -> Path:
        """The course root, where this grades a notebook (its parent is an exporter) or is asked for its settings."""
        run: Any = self.parent.parent if isinstance(self.parent, Exporter) else self.parent
        return Path(run.coursedir.root)

    def _seed(self, root: Path, assignment: str) -> int:
        return class_seed(root, assignment) if self.seed is None else self.seed

    def own_cases(self, root: Path) -> dict[str, str]:
        """The texts of the teacher's files of cases, by exercise. Raises HiddenCasesError."""
        asked_for = self.hidden_cases != type(self).hidden_cases.default_value
        return hidden_cases.texts(root / self.hidden_cases, asked_for)

    def own_settings(self, released: Released) -> list[str]:
        """The teacher's own points, costs and cases that act in the assignment, each in a few words."""
        checked = [answer for name in released.names() for answer in map(grade_id, released.notebook(name).cells)]
        checked = [answer.removesuffix(by_hand.CHECK) for answer in checked if answer.endswith(by_hand.CHECK)]
        points = [f"{name} is worth {number:g}" for name, number in released.own_points.items()]
        costs = [f"{name} costs {number:g} of 100" for name, number in self.costs.items()]
        cases = [
            f"your cases for {exercise} count in {', '.join(answers)}"
            for exercise in self.own_cases(released.root)
            if (answers := [answer for answer in checked if exercise_of(answer)[0] == exercise])
        ]
        return points + costs + cases

    def _limits(self) -> Limits:
        return Limits(self.seconds, self.total_seconds, int(self.memory_megabytes * MEGABYTE), self.wall_factor)

    def _progress(self, where: dict[str, Any]) -> str:
        """``[3/30, about 40 s left] ``: which submission of this run it is, and how long the rest will take."""
        run = self.parent.parent
        mine = run.released.submitted(where["student"])
        folders = [os.path.normpath(folder) for folder in sorted(run.assignments)]
        number = folders.index(os.path.normpath(mine)) + 1
        run.pace.made += 1
        return f"{run.pace.text(number, len(folders))} "


class SaveScores(SaveAutoGrades):
    """nbgrader's own, but for what was not graded: that gets no score, not full marks and not 0. And the scores of a
    notebook are committed together: nbgrader waits for the disk after each cell.
    """

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """The notebook as it is, with its scores in the gradebook."""
        where, run = resources["nbgrader"], self.parent.parent
        self._place, self._notebook = (where["notebook"], where["assignment"], where["student"]), nb
        self._before, self._now, self._again = run.seen.get(where["notebook"], {}), by_hand.seen(nb), list[str]()
        with Gradebook(where["db_url"]) as self.gradebook:
            NbGraderPreprocessor.preprocess(self, nb, resources)
            self.gradebook.db.commit()
        if self._again:
            run.summary.again.append(f"{run.notebook.name}: {', '.join(self._again)}")
        return nb, resources

    def _add_score(self, cell: NotebookNode, resources: ResourcesDict) -> None:
        grade = self.gradebook.find_grade(grade_id(cell), *self._place)
        run = self.parent.parent
        ungraded = by_hand.is_ungraded(self._notebook, cell)
        grade.auto_score = self._now[grade.name][1]
        if run.changes and (moved := by_hand.moved(grade.name, self._before, self._now)):
            cell.metadata.setdefault(RECORD, {})[MOVED] = [*moved, ", ".join(run.changes)]
        grade.needs_manual_grade = by_hand.waits(grade, self._before, self._now)
        if grade.needs_manual_grade and grade.manual_score is not None:
            self._again.append(by_hand.change(grade, self._before, self._now))
        if not ungraded and grade.auto_score is None and grade.manual_score is None and is_solution(cell):
            run.summary.written += 1

    def _add_comment(self, cell: NotebookNode, resources: ResourcesDict) -> None:
        comment = self.gradebook.find_comment(grade_id(cell), *self._place)
        untouched = cell.metadata.nbgrader.get("checksum") == compute_checksum(cell) and not is_task(cell)
        comment.auto_comment = "No response." if untouched else None


def _with(cell: Cell, kept: tuple[Cell, ...]) -> str:
    """Returns what of a cell that does not end was used."""
    return "with the imports and definitions of that cell alone" if cell.definitions in kept else "without that cell"


class _NotebookLate(Exception):
    """The time of a notebook ran out during a check."""

    def __init__(self, verdict: Verdict):
        self.verdict = verdict
