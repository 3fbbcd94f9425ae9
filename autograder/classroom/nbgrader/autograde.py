"""nbgrader's ``autograde`` with this grader in it: the loop over submissions that ``nbgrader autograde``, formgrader
and ``graded-kernels grade`` run alike.
"""

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader import converters
from nbgrader.api import Gradebook
from nbgrader.apps import api, autogradeapp, generateassignmentapp
from nbgrader.converters.base import BaseConverter, NbGraderException
from nbgrader.coursedir import CourseDirectory
from traitlets import Float, List, Unicode

from ...runner import SandboxError, close_to_others
from ...words import Pace
from . import disk, interrupt, lock, other_files, points
from .borrowed import destination, is_first_pass
from .by_hand import Seen
from .class_seed import ClassSecretError
from .extension import with_notebooks
from .generate import GenerateAssignment
from .grade_cells import Grade
from .gradebooks import ready_once
from .hidden_cases import HiddenCasesError
from .lock import Lock, Locked
from .other_files import digest, not_read, unfit
from .points import lateness, renewed
from .reader import Reader
from .rebuild import NOTES, RECORD
from .regrade import BEGUN, Origin, is_current, mark, remove_outdated, seen_in, standard
from .submission import Notebook, NotReleased, Released, Submission
from .summary import Summary, quiet

REFUSALS = (SandboxError, HiddenCasesError, ClassSecretError, points.PointsError, PermissionError, Locked, NotReleased)


class ReadByUs(BaseConverter):
    """The two steps of nbgrader's base class that read what a learner handed in. nbgrader's ``Autograde`` calls them
    with ``super()``, so this class stands between the two.
    """

    submission: Submission  # which is being graded

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Copies the other files of the submission, less what must not be read."""
        to = destination(self, assignment_id, student_id)
        for file in other_files.files(self.submission.folder, self.submission.left_out, self.coursedir.ignore):
            path = os.path.join(to, os.path.relpath(file, self.submission.folder))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)
            shutil.copy(file, path)

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """nbgrader's own reads the file before any preprocessor sees it. It gives up there if the file is broken, and
        gives up the whole batch if a cell was copied.
        """
        resources = self.init_single_notebook_resources(notebook_filename)
        notebook = self.notebook_at(notebook_filename)
        if is_first_pass(self):  # read again at once, then written for people: in C, without an indent
            exporter: NotebookExporter = self.exporter
            node, resources = super(NotebookExporter, exporter).from_notebook_node(notebook, resources=resources)
            output = json.dumps(node)
        else:
            output, resources = self.exporter.from_notebook_node(notebook, resources=resources)
        self.write_single_notebook(output, resources)

    def notebook_at(self, path: str) -> NotebookNode:
        """The notebook that is converted for this file."""
        raise NotImplementedError


class Autograde(converters.Autograde, ReadByUs):
    """Where nothing can be graded it says why before a notebook is touched. nbgrader's own skips what was graded once,
    whatever was handed in since.
    """

    assignments: dict[str, list[str]]  # notebooks by folder, as nbgrader finds them; and those of one submission:
    notebooks: list[str]
    seen: dict[str, dict[str, Seen]]  # of each, what a person saw when it was graded before
    changes: list[str]  # since then, of what decides its scores besides what was handed in

    megabytes = Float(50, help="The size of a submitted notebook, in MB, above which it is not read.").tag(config=True)
    code_megabytes = Float(1, help="The same for its code and text alone, without outputs.").tag(config=True)
    students = List(Unicode(), help="Only their submissions are graded; left empty, all.").tag(config=True)

    def __init__(self, coursedir: CourseDirectory, **options: Any) -> None:
        super().__init__(coursedir=coursedir, **options)
        self.summary, self.released = Summary(), Released(coursedir, Grade(parent=self).points)
        self._reader = Reader(self.megabytes, self.code_megabytes)
        self._standards: dict[str, dict[str, str]] = {}
        self._read_before: dict[str, Submission] | None = None  # by student; None where no cluster was asked

    def init_notebooks(self) -> None:
        """Finds the submissions, those of the chosen students whose folders have a name that nbgrader can work with.
        Where there are none it lists what lies elsewhere: this is the run that most needs the list.
        """
        try:
            super().init_notebooks()
            fit = {
                path: notebooks for path, notebooks in self.assignments.items() if not any(map(unfit, Path(path).parts))
            }
            if not fit:
                raise NbGraderException("There is no submission whose folder has a name that nbgrader can work with")
        except NbGraderException:
            self.log.error("%s", Summary(elsewhere=not_read(self.coursedir)))
            raise
        self.assignments = {
            path: notebooks for path, notebooks in fit.items() if self._is_chosen(self.student_of(path))
        }

    def _is_chosen(self, student: str) -> bool:
        return not self.students or student in self.students

    def student_of(self, folder: str) -> str:
        """The student whose submission this folder holds."""
        resources = self.init_single_notebook_resources(os.path.join(folder, "any.ipynb"))
        return str(resources["nbgrader"]["student"])

    def convert_notebooks(self) -> None:
        """nbgrader's loop over the submissions, alone in the course, and with a summary."""
        try:
            disk.require(self.coursedir)
            with interrupt.grading(), quiet(self.log), Lock(self._root), disk.watched(self.coursedir), ready_once():
                self._grade()
        except REFUSALS as error:
            self.log.error("Nothing was graded: %s", error)
            raise NbGraderException(str(error)) from None
        except disk.DiskFull as error:
            self.log.error("Stopped: %s.", error)
            raise NbGraderException(str(error)) from None
        except OSError as error:
            if not disk.fix(error):
                raise
            self.log.error("Stopped: %s.%s What was graded is kept; the same command goes on.", error, disk.fix(error))
            raise NbGraderException(str(error)) from None
        except KeyboardInterrupt:
            self.log.error(interrupt.KEPT)
            sys.exit(interrupt.EXIT)

    def _grade(self) -> None:
        courses = self.coursedir
        lock.prepare(courses, self.log.warning)
        self.released.record_points()
        start = self._read_before is None  # where a cluster was asked, its verdicts are there
        grader = Grade(parent=self)
        grader.ready(self.released, start)
        self.summary.settings = grader.own_settings(self.released)
        if closed := close_to_others(self._root, courses.groupshared):
            self.log.warning("Other accounts could read %s. Now they cannot.", ", ".join(closed))
        self.pace = Pace()
        try:
            super().convert_notebooks()
        finally:
            close_to_others(self._root, courses.groupshared)
            self._summarise()

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Returns whether to grade the submission: where something else was handed in since it was graded, what decides
        its verdicts changed, or the run was killed. Old scores must not outlive a run that fails.
        """
        interrupt.raise_if_asked()
        disk.require(self.coursedir)
        excluded = student_id in self.coursedir.student_id_exclude.split(",")
        if not excluded:
            known, names = (self._read_before or {}).get(student_id), self.released.names()
            submitted = known.digest if known else digest(self.released.submitted(student_id), self.megabytes)
            graded, chosen = self.released.graded(student_id), self.coursedir.notebook_id
            self.seen = seen_in(graded)
            decided = {name: self.standard(name) for name in names}
            self.changes = remove_outdated(graded, chosen, submitted, decided.get, self.summary, self.log)
        if super().init_destination(assignment_id, student_id):
            self.summary.failed.append(f"{student_id}, {assignment_id}")  # until it has come to its end
            self._prepare(student_id)
            return True
        (self.summary.excluded if excluded else self.summary.unchanged).append(student_id)
        return False

    def _prepare(self, student: str) -> None:
        """Takes back old scores, and reads the submission where that was not done for the cluster."""
        lock.wait(self.coursedir.db_url, self.log.warning)
        with_notebooks(self.coursedir.db_url, student, self.released.assignment)
        for name in self.released.names():
            points.clear_scores(self.coursedir.db_url, self.released.assignment, student, name)
        known = self._read_before.pop(student, None) if self._read_before else None
        self.submission, self.judged = known or self._read(student, self.notebooks), 0
        self.notebooks = [str(self.submission.folder / f"{name}.ipynb") for name in self.submission.notebooks]
        missing = self.submission.missing
        self.summary.odd += [f"{student}, {name}: no such notebook was handed in, 0 points" for name in missing]

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """nbgrader's own, after which no notebook has 0 points that was handed in under another name."""
        with disk.writing(self._root):
            super().init_assignment(assignment_id, student_id)
        for name, notebook in self.submission.notebooks.items():
            if notebook.remedy:
                points.clear_scores(self.coursedir.db_url, assignment_id, student_id, name)

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Converts the notebook as the submission has it. Raises DiskFull."""
        self.notebook = self.submission.notebooks[Path(notebook_filename).stem]
        with disk.writing(self._root):
            super().convert_single_notebook(notebook_filename)

    def notebook_at(self, path: str) -> NotebookNode:
        """First the one that was rebuilt, then what the first pass made of it."""
        if not is_first_pass(self):
            graded: NotebookNode = nbformat.read(path, as_version=4)
            graded.metadata.get(RECORD, {}).pop(BEGUN, None)
            return graded
        notebook, name = self.notebook, Path(path).stem
        if notebook.unread:
            self.summary.for_a_person.append(f"{notebook.name}: {notebook.unread}{notebook.remedy}")
        elif notes := notebook.node.metadata.get(RECORD, {}).get(NOTES):
            self.summary.odd.append(f"{notebook.name}: {' '.join(notes)}")
        points.give(notebook.node, self.released.own_points)
        mark(notebook.node, Origin(self.submission.digest, self.standard(name)))
        return notebook.node

    def set_permissions(self, assignment_id: str, student_id: str) -> None:
        """nbgrader's last step for a submission: from here on it counts as graded."""
        super().set_permissions(assignment_id, student_id)
        self.summary.failed.remove(f"{student_id}, {assignment_id}")
        self.summary.graded += self.judged
        late = lateness(self.coursedir.db_url, assignment_id, student_id)
        self.summary.late += [late] if late else []

    def outdated(self, force: bool) -> Iterator[Notebook]:
        """The notebooks that a run would grade now, but for unreadable ones; the run itself reads none again."""
        self._read_before = {}
        for folder, notebooks in sorted(self.assignments.items()):
            student = self.student_of(folder)
            submitted, graded = digest(Path(folder), self.megabytes), self.released.graded(student)
            names = self.released.names()
            if not force:
                names = [n for n in names if not is_current(graded / f"{n}.ipynb", submitted, self.standard(n))]
            if names:
                self._read_before[student] = submission = self._read(student, notebooks)
                yield from (
                    notebook for name, notebook in submission.notebooks.items() if name in names and not notebook.unread
                )

    def standard(self, notebook: str) -> dict[str, str]:
        """Returns what decides the verdicts on a notebook besides its answers, as it was when the run first asked."""
        if notebook not in self._standards:
            grader = Grade(parent=self)
            job_of = partial(grader.job, self.released)
            self._standards[notebook] = standard(grader.costs, job_of, self.released.notebook(notebook))
        return self._standards[notebook]

    @property
    def _root(self) -> Path:
        return Path(self.coursedir.root)

    def _read(self, student: str, notebooks: list[str]) -> Submission:
        handed_in = [Path(path).stem for path in notebooks]
        return Submission(self.released, self._reader, student, handed_in, self.megabytes)

    def _summarise(self) -> None:
        courses = self.coursedir
        self.summary.elsewhere = not_read(courses)
        if self.summary.unchanged:
            with Gradebook(courses.db_url) as book:
                submissions = book.assignment_submissions(courses.assignment_id)
                waiting = {submission.student_id for submission in submissions if submission.needs_manual_grade}
            self.summary.waiting = len(waiting.intersection(self.summary.unchanged))
            self.summary.late += renewed(self, self.summary.unchanged)
        self.log.info("%s", self.summary)


def install() -> None:
    """Puts this converter into nbgrader, and the one that releases, for this process; ``nbgrader_config.py`` calls it.
    nbgrader has no setting for the class. A time of submission that cannot be read is then one that is missing.
    """
    if not shutil.which("alembic"):  # which nbgrader calls by its bare name to make a gradebook
        os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}{os.pathsep}{Path(sys.executable).parent}"
    autogradeapp.Autograde = Autograde  # apps/autogradeapp.py:132: `nbgrader autograde` names the class
    api.Autograde = Autograde  # apps/api.py:1039: so does formgrader's button
    generateassignmentapp.GenerateAssignment = api.GenerateAssignment = GenerateAssignment
    # coursedir.py:328 opens whatever is there, and waits for a pipe; coursedir.py:337 calls a method that it lacks.
    CourseDirectory.get_existing_timestamp = _time_in
    api.NbGraderAPI.get_submitted_timestamp = _time_of  # apps/api.py:249: a bad time ends formgrader's list of a class


def _time_in(courses: CourseDirectory, dest_path: str) -> datetime | None:
    try:
        return other_files.submission_time(dest_path)
    except other_files.BadTime:
        return None


def _time_of(nbgrader_api: api.NbGraderAPI, assignment_id: str, student_id: str) -> datetime | None:
    courses = nbgrader_api.coursedir
    return _time_in(courses, courses.format_path(courses.submitted_directory, student_id, assignment_id))
