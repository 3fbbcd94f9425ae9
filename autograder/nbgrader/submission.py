"""What nbgrader's autograde reads: in place of the submitted file, the notebook rebuilt from the released one."""

import copy
import fnmatch
import glob
import os
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader.api import Gradebook
from nbgrader.converters import base
from nbgrader.converters.base import NbGraderException
from traitlets import Float, List, Unicode

from ..doctor.doctor import close_to_others
from ..instructor.tables import HiddenCasesError
from ..sandbox import SandboxError
from . import folder, gradebook, interrupt, points, room
from .again import remove_outdated
from .class_seed import ClassSecretError
from .contents import BEGUN, Origin, digest, mark
from .grade import Grade
from .late import lateness, renewed
from .lock import Lock, Locked
from .nothing_matched import install, not_read
from .old_scores import clear_scores
from .reader import Reader
from .reading import Unreadable
from .rebuild import NOTES, RECORD, UNREAD, released_notebook, without_submission
from .standard import MADE_FOR, standard, unusable
from .summary import Summary, quiet
from .survey import answers, renamed, why_unread

MANY = 20  # files to be left out; looking for each among the others takes time


class NotReleased(Exception):
    """There is no released notebook to grade by; the message says how to make it."""


REFUSALS = (SandboxError, HiddenCasesError, ClassSecretError, points.PointsError, PermissionError, Locked, NotReleased)


class Submissions(NotebookExporter):
    """The ``exporter_class`` of ``Autograde``. Where nothing could be graded it says why before a notebook is touched.

    nbgrader's own reads the file before any preprocessor sees it. It gives up there if the file is broken, and gives up
    the whole batch if a cell was copied. It also skips what was graded once, whatever was handed in since.
    """

    megabytes = Float(50, help="The size of a submitted notebook, in MB, above which it is not read.").tag(config=True)
    code_megabytes = Float(1, help="The same for its code and text alone, without outputs.").tag(config=True)
    students = List(Unicode(), help="Only their submissions are graded; left empty, all.").tag(config=True)

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.begun, self.graded, self.summary = time.monotonic(), 0, Summary()
        self._standards: dict[str, dict[str, str]] = {}
        self._releases: dict[str, nbformat.NotebookNode] = {}
        self._left_out: dict[str, str] = {}
        self._unread: dict[str, str] = {}  # of the submission at hand: notebook -> why it is not read,
        self._remedy: dict[str, str] = {}  # and the command that mends it
        self._file_notes: list[str] = []
        self.judged = 0  # of its notebooks
        self.reader = Reader(self.megabytes, self.code_megabytes)
        converter = self._converter = self.parent
        self._teachers_hook, converter.pre_convert_hook = converter.pre_convert_hook, self._before
        self._nbgraders_run, converter.convert_notebooks = converter.convert_notebooks, self._run
        self._nbgraders_init, converter.init_assignment = converter.init_assignment, self._init
        self._nbgraders_destination, converter.init_destination = converter.init_destination, self._destination
        self._nbgraders_end, converter.set_permissions = converter.set_permissions, self._end
        converter.coursedir.get_existing_timestamp = self._submission_time

    def from_filename(self, filename, resources=None, **kwargs):
        where = resources["nbgrader"]
        submitted = self._submitted(where["assignment"], where["student"])
        if os.path.normpath(os.path.dirname(filename)) != os.path.normpath(submitted):
            # The second pass, over the notebook that the first one made.
            notebook = nbformat.read(filename, as_version=4)
            notebook.metadata.get(RECORD, {}).pop(BEGUN, None)
            return self.from_notebook_node(notebook, resources=resources, **kwargs)
        released = self.release(where["assignment"], where["notebook"])
        notes, found = folder.notes(self._left_out) + self._file_notes, digest(submitted, self.megabytes)
        try:
            if sentence := self._unread.get(where["notebook"]):
                notebook = without_submission(released, sentence, notes)
            else:
                notebook = self.rebuilt(Path(filename), where["assignment"], where["notebook"], notes)
        except Unreadable as error:
            notebook = without_submission(released, f"The submitted file {error}", notes)
        points.give(notebook, self._points)
        self._list(notebook, where)
        mark(notebook, Origin(found, self.standard(where["assignment"], where["notebook"])))
        return self.from_notebook_node(notebook, resources=resources, **kwargs)

    def _list(self, notebook: nbformat.NotebookNode, where: dict) -> None:
        """Puts what is odd about a rebuilt notebook into the summary."""
        record, name = notebook.metadata.get(RECORD, {}), f"{where['student']}, {where['notebook']}"
        if UNREAD in record:
            self.summary.for_a_person.append(f"{name}: {record[UNREAD]}{self._remedy.get(where['notebook'], '')}")
        elif NOTES in record:
            self.summary.odd.append(f"{name}: {' '.join(record[NOTES])}")

    def _run(self) -> None:
        """In place of nbgrader's loop over the submissions: the same, alone in the course, and with a summary."""
        courses = self._converter.coursedir
        root = Path(courses.root)
        try:
            room.require(courses)
            with interrupt.grading(), quiet(self.log), Lock(root), room.watched(self._converter):
                gradebook.prepare(courses, self.log.warning)
                self._converter.assignments = {f: self._converter.assignments[f] for f in self.chosen()}
                self._record_points(self.names(courses.assignment_id))
                made_for = os.environ.get(MADE_FOR, "")  # such a run has nothing to check as a rule
                Grade(parent=self).ready(start=not made_for)
                for sentence in unusable(made_for, partial(self.standard, courses.assignment_id)):
                    self.log.warning("%s", sentence)
                closed = close_to_others(root, courses.groupshared)
                if closed:
                    self.log.warning("Other accounts could read %s. Now they cannot.", ", ".join(closed))
                try:
                    self._nbgraders_run()
                finally:
                    close_to_others(root, courses.groupshared)
                    self._summarise()
        except REFUSALS as error:
            self.log.error("Nothing was graded: %s", error)
            raise NbGraderException(str(error)) from None
        except room.DiskFull as error:
            self.log.error("Stopped: %s.", error)
            raise NbGraderException(str(error)) from None
        except OSError as error:
            if not room.fix(error):
                raise
            self.log.error("Stopped: %s.%s What was graded is kept; the same command goes on.", error, room.fix(error))
            raise NbGraderException(str(error)) from None
        except KeyboardInterrupt:
            self.log.error(interrupt.KEPT)
            sys.exit(interrupt.EXIT)

    def standard(self, assignment: str, notebook: str) -> dict[str, str]:
        """What decides the verdicts on a notebook besides its answers, as it was when the run first asked."""
        if notebook not in self._standards:
            root, released = Path(self._converter.coursedir.root), self.release(assignment, notebook)
            self._standards[notebook] = standard(Grade(parent=self), root, assignment, released)
        return self._standards[notebook]

    def chosen(self) -> dict[str, str]:
        """The submissions that this run is about: folder -> student."""
        of = self._converter.init_single_notebook_resources
        found = {f: of(os.path.join(f, "any.ipynb"))["nbgrader"]["student"] for f in self._converter.assignments}
        return {folder: student for folder, student in found.items() if not self.students or student in self.students}

    def _summarise(self) -> None:
        courses = self._converter.coursedir
        self.summary.elsewhere = not_read(courses)
        if self.summary.unchanged:
            with Gradebook(courses.db_url) as gradebook:
                submissions = gradebook.assignment_submissions(courses.assignment_id)
                waiting = {one.student_id for one in submissions if one.needs_manual_grade}
            self.summary.waiting = len(waiting.intersection(self.summary.unchanged))
            self.summary.late += renewed(self._converter, self.summary.unchanged)
        self.log.info("%s", self.summary)

    def _submitted(self, assignment: str, student: str) -> Path:
        courses = self._converter.coursedir
        return Path(courses.format_path(courses.submitted_directory, student, assignment))

    def _released(self, pattern: str) -> list[Path]:
        courses = self._converter.coursedir
        return [Path(path) for path in glob.glob(courses.format_path(courses.release_directory, ".", pattern))]

    def release(self, assignment: str, notebook: str) -> nbformat.NotebookNode:
        """With the teacher's own points. Nobody may change it: others get the same."""
        path = self._released_path(assignment, notebook)
        if notebook not in self._releases:
            released = copy.deepcopy(released_notebook(path, path.stat().st_mtime_ns))
            self._releases[notebook] = points.give(released, self._points)
        return self._releases[notebook]

    @property
    def _points(self) -> dict[str, float]:
        own: dict[str, float] = Grade(parent=self).points
        return own

    def _record_points(self, names: list[str]) -> None:
        """Writes those of a run's notebooks into the gradebook. Raises PointsError."""
        courses = self._converter.coursedir
        if self._points:
            files = [path for folder in self._released("*") for path in folder.glob("*.ipynb")]
            points.assert_known(self._points, (released_notebook(path, path.stat().st_mtime_ns) for path in files))
        for name in names:
            points.record(courses.db_url, courses.assignment_id, name, self.release(courses.assignment_id, name))

    def _released_path(self, assignment: str, notebook: str) -> Path:
        courses = self._converter.coursedir
        return Path(courses.format_path(courses.release_directory, ".", assignment), f"{notebook}.ipynb")

    def rebuilt(self, path: Path, assignment: str, notebook: str, notes: Sequence[str] = ()) -> nbformat.NotebookNode:
        """The submitted file at ``path`` in the notebook as it was released. Raises Unreadable."""
        courses = self._converter.coursedir
        published = Path(courses.format_path(courses.source_directory, ".", assignment), f"{notebook}.ipynb")
        return self.reader.rebuilt(path, self._released_path(assignment, notebook), published, notes)

    def names(self, assignment: str) -> list[str]:
        """The notebooks that were released, as far as this run grades them. Raises NotReleased."""
        courses = self._converter.coursedir
        names = sorted(path.stem for folder in self._released(assignment) for path in folder.glob("*.ipynb"))
        if not names:
            where = courses.format_path(courses.release_directory, ".", assignment)
            command = f"nbgrader generate_assignment {assignment} --force"
            raise NotReleased(f"{where}, the assignment as it was released, is missing. Make it again: {command}")
        return fnmatch.filter(names, courses.notebook_id)

    def _destination(self, assignment: str, student: str) -> bool:
        """In place of nbgrader's, which skips what was graded: unless other contents were handed in since, or the run
        was killed.
        """
        interrupt.raise_if_asked()
        converter = self._converter
        room.require(converter.coursedir)
        excluded = converter.coursedir.student_id_exclude.split(",")
        courses = converter.coursedir
        graded = Path(courses.format_path(courses.autograded_directory, student, assignment))
        if student not in excluded:
            submitted, names = digest(self._submitted(assignment, student), self.megabytes), self.names(assignment)
            remove_outdated(
                graded,
                courses.notebook_id,
                submitted,
                lambda name: self.standard(assignment, name) if name in names else None,
                self.summary,
                self.log,
            )
        if self._nbgraders_destination(assignment, student):
            self.summary.failed.append(self._named(student, assignment))  # until it has come to its end
            return True
        if student in excluded:
            self.summary.excluded.append(student)
        else:
            self.summary.unchanged.append(student)
        return False

    def _before(self, **which) -> None:
        """Runs before a submission is touched: its old scores must not outlive a run that fails."""
        where = self._converter.init_single_notebook_resources(
            os.path.join(os.path.dirname(self._converter.notebooks[0]), "any.ipynb")
        )["nbgrader"]
        names = self.names(where["assignment"])
        gradebook.wait(where["db_url"], self.log.warning)
        for name in names:
            clear_scores(where["db_url"], where["assignment"], where["student"], name)
        self._look_around(where["assignment"], where["student"], names)
        if self._teachers_hook:
            self._teachers_hook(**which)

    def _look_around(self, assignment: str, student: str, names: list[str]) -> None:
        """Which of the notebooks are graded, and whether others in the same folder are what the learner meant."""
        place = self._submitted(assignment, student)
        others = sorted({Path(path).stem for path in self._converter.notebooks} - set(names))
        self._unread, self._remedy, self._file_notes, self.judged = {}, {}, [], 0
        notebooks = []
        for name in names:
            path = place / f"{name}.ipynb"
            if others:
                self._compare(place, assignment, name, others)
            if os.path.lexists(path) or name in self._unread:
                notebooks.append(str(path))
            else:
                self.summary.odd.append(f"{student}, {name}: no such notebook was handed in, 0 points")
        self._converter.notebooks = notebooks

    def _compare(self, place: Path, assignment: str, name: str, others: list[str]) -> None:
        def answered_in(stem: str) -> dict[int, str] | None:
            try:
                rebuilt = self.rebuilt(place / f"{stem}.ipynb", assignment, name)
            except Unreadable:
                return None
            return answers(self.release(assignment, name), rebuilt)

        own, answered = answered_in(name), {other: answered_in(other) for other in others}
        if sentence := why_unread(place, name, answered, own):
            here = Path(os.path.relpath(place, self._converter.coursedir.root))
            commands = [renamed(here / f"{other}.ipynb", here / f"{name}.ipynb") for other in others]
            self._unread[name], self._remedy[name] = sentence, f" To have it read: {' OR '.join(commands)}"
            return
        different = [other for other in others if answered[other] and answered[other] != own]
        odd = [f"`{folder.plain(other)}.ipynb` beside it, with other answers, was not read." for other in different]
        broken = [other for other in others if answered[other] is None]
        odd += [f"`{folder.plain(other)}.ipynb` beside it cannot be read." for other in broken]
        self._file_notes += odd

    def _init(self, assignment: str, student: str) -> None:
        """In place of nbgrader's, which copies the other files in the folder: the same, less what must not be read."""
        courses = self._converter.coursedir
        submitted = self._submitted(assignment, student)
        self._left_out = folder.left_out(submitted, self.megabytes)
        ignored, nbgraders_files = courses.ignore, base.find_all_files
        courses.ignore = ignored + (
            ["*"] if len(self._left_out) > MANY else [glob.escape(name) for name in self._left_out]
        )
        base.find_all_files = folder.files  # nbgrader's own fails a thousand folders down
        try:
            self._nbgraders_init(assignment, student)
        finally:
            courses.ignore, base.find_all_files = ignored, nbgraders_files
        for name in self._unread:  # nbgrader gave 0 for a file that is not there
            clear_scores(courses.db_url, assignment, student, name)

    def _end(self, assignment: str, student: str) -> None:
        """With nbgrader's last step for a submission: from here on it counts as graded."""
        self._nbgraders_end(assignment, student)
        self.summary.failed.remove(self._named(student, assignment))
        self.summary.graded += self.judged
        late = lateness(self._converter.coursedir.db_url, assignment, student)
        self.summary.late += [late] if late else []

    @staticmethod
    def _named(student: str, assignment: str) -> str:
        return f"{student}, {assignment}"

    def _submission_time(self, path: str) -> datetime | None:
        """In place of nbgrader's, which fails where there is no time in the file, and waits if it is a pipe."""
        try:
            return folder.submission_time(path)
        except folder.BadTime:
            return None


install(Submissions)
