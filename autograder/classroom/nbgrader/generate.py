"""nbgrader's ``generate_assignment``, which keeps what was released where the new notebook cannot take its place."""

import shutil
import tempfile
from pathlib import Path

import nbformat
from nbgrader import converters
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters.base import NbGraderException
from nbgrader.utils import is_grade, is_locked, is_solution, is_task
from traitlets import List

from .appeal_form import AppealForm
from .borrowed import destination
from .hints import Hints
from .rebuild import grade_id

ADVICE = "AGENTS.md"  # at the course root: for a code model that works beside a learner


class GenerateAssignment(converters.GenerateAssignment):
    """A notebook that was graded can be released again as long as the gradebook's cells stay. nbgrader's own finds that
    they do not after it has removed what was released.
    """

    preprocessors = List([Hints, *converters.GenerateAssignment.preprocessors.default(), AppealForm]).tag(config=True)

    def init_notebooks(self) -> None:
        """Finds the notebooks. Raises NbGraderException where one cannot be released."""
        super().init_notebooks()
        for path in (path for found in self.assignments.values() for path in found):
            if not self.no_database and (changes := self._changes(path)):
                why = (
                    f"{Path(path).name} has submissions, so its answers, checks and locked cells must stay: "
                    f"{', '.join(changes)}. What is missing can go into a code cell that is none of these: it runs."
                )
                self.log.error("Nothing was released: %s", why)
                raise NbGraderException(why)

    def convert_notebooks(self) -> None:
        """nbgrader's own, which removes what was released before it makes what takes its place."""
        with tempfile.TemporaryDirectory() as folder:
            self._copies = Path(folder)
            self._released = dict[Path, Path]()  # copy by place
            try:
                super().convert_notebooks()
            except BaseException:
                self._restore()
                raise

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Returns whether to convert the assignment. Where something was released it is copied before it may be
        removed.
        """
        place = Path(self.coursedir.root, destination(self, assignment_id, student_id))
        if place.is_dir():
            self._released[place] = Path(shutil.copytree(place, self._copies / assignment_id, symlinks=True))
        return bool(super().init_destination(assignment_id, student_id))

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Copies the other files of the assignment, and the course's AGENTS.md where the assignment has none."""
        super().init_assignment(assignment_id, student_id)
        advice = Path(self.coursedir.root, ADVICE)
        copy = Path(self.coursedir.root, destination(self, assignment_id, student_id), ADVICE)
        if advice.is_file() and not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(advice, copy)

    def _restore(self) -> None:
        for place, copy in self._released.items():
            for file in (file for file in copy.rglob("*") if not file.is_dir()):
                to = place / file.relative_to(copy)
                if not to.exists():
                    to.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(file, to, follow_symlinks=False)
                    self.log.error("%s is as it was released before.", to)

    def _changes(self, path: str) -> list[str]:
        """The cells of the gradebook that the notebook adds or lacks, where it has submissions."""
        where = self.init_single_notebook_resources(path)["nbgrader"]
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
            try:
                notebook = book.find_notebook(where["notebook"], where["assignment"])
            except MissingEntry:
                return []
            if not notebook.submissions:
                return []
            before = {cell.name for cell in notebook.source_cells}
        cells = nbformat.read(path, as_version=4).cells
        now = {grade_id(c) for c in cells if is_grade(c) or is_solution(c) or is_locked(c) or is_task(c)}
        return [f"`{name}` is {'new' if name in now else 'gone'}" for name in sorted(now ^ before)]
