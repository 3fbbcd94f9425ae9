"""What nbgrader's autograde reads: in place of the submitted file, the notebook rebuilt from the released one."""

import fnmatch
import glob
import json
import os
import shutil
import time
from datetime import datetime
from pathlib import Path

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import base
from nbgrader.converters.base import NbGraderException
from sqlalchemy import make_url
from traitlets import Float

from ..hidden import HiddenCasesError
from ..sandbox import SandboxError
from . import folder
from .class_seed import ClassSecretError
from .grade import Grade
from .reading import Unreadable, read
from .rebuild import RECORD, rebuild, without_submission

MANY = 20  # files to be left out; looking for each among the others takes time
BEGUN = "begun"  # under our key in the metadata of a notebook that was rebuilt and is not graded yet


class Submissions(NotebookExporter):
    """The ``exporter_class`` of ``Autograde``. Where nothing could be graded it says why before a notebook is touched.

    nbgrader's own reads the file before any preprocessor sees it. It gives up there if the file is broken, and gives up
    the whole batch if a cell was copied.
    """

    megabytes = Float(50, help="The size of a submitted notebook, in MB, above which it is not read.").tag(config=True)
    code_megabytes = Float(1, help="The same for its code and text alone, without outputs.").tag(config=True)

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.begun, self.graded = time.monotonic(), 0
        self._left_out: dict[str, str] = {}
        self._teachers_hook, self._nbgraders_init = self.parent.pre_convert_hook, self.parent.init_assignment
        self.parent.pre_convert_hook, self.parent.init_assignment = self._before, self._init
        self.parent.coursedir.get_existing_timestamp = self._submission_time
        try:
            Grade(parent=self).ready()
            self._assert_writable()
        except (SandboxError, HiddenCasesError, ClassSecretError, PermissionError) as error:
            self.log.error("Nothing was graded: %s", error)
            raise NbGraderException(str(error)) from None
        for assignment in self.parent.assignments:
            self._remove_unfinished(assignment)

    def from_filename(self, filename, resources=None, **kwargs):
        where = resources["nbgrader"]
        courses = self.parent.coursedir
        submitted = courses.format_path(courses.submitted_directory, where["student"], where["assignment"])
        if os.path.normpath(os.path.dirname(filename)) != os.path.normpath(submitted):
            # The second pass, over the notebook that the first one made.
            notebook = nbformat.read(filename, as_version=4)
            notebook.metadata.get(RECORD, {}).pop(BEGUN, None)
            return self.from_notebook_node(notebook, resources=resources, **kwargs)
        released = nbformat.read(self._released(where["assignment"]) / f"{where['notebook']}.ipynb", as_version=4)
        notes = folder.notes(self._left_out)
        try:
            notebook = rebuild(released, read(filename, self.megabytes, self.code_megabytes), notes)
        except Unreadable as error:
            self.log.warning("%s: %s", filename, error)
            notebook = without_submission(released, str(error), notes)
        notebook.metadata.setdefault(RECORD, {})[BEGUN] = True
        return self.from_notebook_node(notebook, resources=resources, **kwargs)

    def _assert_writable(self) -> None:
        """Grading a class takes long, and nbgrader writes last. Raises PermissionError."""
        courses = self.parent.coursedir
        book = make_url(courses.db_url)
        files = [book.database, os.path.dirname(book.database)] if book.get_backend_name() == "sqlite" else []
        graded = Path(courses.format_path(courses.autograded_directory, ".", ".")).absolute()
        files.append(str(next(folder for folder in (graded, *graded.parents) if folder.exists())))
        for path in files:
            if os.path.exists(path) and not os.access(path, os.W_OK):
                raise PermissionError(f"{path} cannot be written")

    def _released(self, assignment: str) -> Path:
        """The folder of the released notebooks. Raises FileNotFoundError."""
        courses = self.parent.coursedir
        folder = Path(courses.format_path(courses.release_directory, ".", assignment))
        if not any(folder.glob("*.ipynb")):
            command = f"nbgrader generate_assignment {assignment} --force"
            raise FileNotFoundError(
                f"{folder}, the assignment as it was released, is missing. Make it again: {command}"
            )
        return folder

    def _before(self, **which) -> None:
        """Runs before a submission is touched: its old scores must not outlive a run that fails."""
        paths = self.parent.notebooks
        where = self.parent.init_single_notebook_resources(os.path.join(os.path.dirname(paths[0]), "any.ipynb"))
        where = where["nbgrader"]
        names = [path.stem for path in self._released(where["assignment"]).glob("*.ipynb")]
        for path in paths:
            if Path(path).stem not in names:
                expected = ", ".join(sorted(names))
                self.log.error("%r is none of the released notebooks (%s). Rename it.", path, expected)
        self.parent.notebooks = [path for path in paths if Path(path).stem in names]
        for name in fnmatch.filter(names, self.parent.coursedir.notebook_id):
            clear_scores(where["db_url"], where["assignment"], where["student"], name)
        if self._teachers_hook:
            self._teachers_hook(**which)

    def _init(self, assignment: str, student: str) -> None:
        """In place of nbgrader's, which copies what lies beside the notebook: the same, less what must not be read."""
        courses = self.parent.coursedir
        submitted = Path(courses.format_path(courses.submitted_directory, student, assignment))
        self._left_out = folder.left_out(submitted, self.megabytes)
        for name, reason in self._left_out.items():
            self.log.warning("%s: %r %s", submitted, name, reason)
        ignored, nbgraders_files = courses.ignore, base.find_all_files
        many = len(self._left_out) > MANY
        courses.ignore = ignored + (["*"] if many else [glob.escape(name) for name in self._left_out])
        base.find_all_files = folder.files  # nbgrader's own fails a thousand folders down
        try:
            self._nbgraders_init(assignment, student)
        finally:
            courses.ignore, base.find_all_files = ignored, nbgraders_files

    def _submission_time(self, path: str) -> datetime | None:
        """In place of nbgrader's, which fails where there is no time in the file, and waits if it is a pipe."""
        try:
            return folder.submission_time(path)
        except folder.BadTime:
            return None

    def _remove_unfinished(self, submitted: str) -> None:
        """Removes what a run left behind that was killed: nbgrader would take it for graded, and skip it."""
        where = self.parent.init_single_notebook_resources(os.path.join(submitted, "any.ipynb"))["nbgrader"]
        courses = self.parent.coursedir
        graded = Path(courses.format_path(courses.autograded_directory, where["student"], where["assignment"]))
        if any(_is_unfinished(path) for path in graded.glob("*.ipynb")):
            self.log.warning("%s is from a run that did not end. It is graded again.", graded)
            shutil.rmtree(graded)


def _is_unfinished(path: Path) -> bool:
    try:
        return bool(json.loads(path.read_bytes())["metadata"][RECORD][BEGUN])
    except ValueError:
        return True  # half written
    except (LookupError, TypeError):
        return False


def clear_scores(db_url: str, assignment: str, student: str, notebook: str) -> None:
    """Takes back the automatic scores of one submitted notebook. What a person gave, scores and comments, stays."""
    with Gradebook(db_url) as gradebook:
        try:
            submitted = gradebook.find_submission_notebook(notebook, assignment, student)
        except MissingEntry:
            return
        for grade in submitted.grades:
            grade.auto_score = None
            grade.needs_manual_grade = True
        gradebook.db.commit()
