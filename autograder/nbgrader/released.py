"""An assignment as it was released, with the teacher's own points: by it every submission is rebuilt and graded."""

import copy
import fnmatch
import glob
from collections.abc import Mapping
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.coursedir import CourseDirectory

from . import points
from .rebuild import released_notebook


class NotReleased(Exception):
    """There is no released notebook to grade by; the message says how to make it."""


class Released:
    """The notebooks of the assignment that ``courses`` names. own: the teacher's points (`points`)."""

    def __init__(self, courses: CourseDirectory, own: Mapping[str, float]):
        self._courses, self._own = courses, own
        self.root, self.assignment = Path(courses.root), courses.assignment_id
        self._notebooks: dict[str, NotebookNode] = {}

    def names(self) -> list[str]:
        """The notebooks that were released, as far as this run grades them. Raises NotReleased."""
        names = sorted(path.stem for folder in self._folders(self.assignment) for path in folder.glob("*.ipynb"))
        if not names:
            where = self._folder("release", ".")
            command = f"nbgrader generate_assignment {self.assignment} --force"
            raise NotReleased(f"{where}, the assignment as it was released, is missing. Make it again: {command}")
        return fnmatch.filter(names, self._courses.notebook_id)

    def notebook(self, name: str) -> NotebookNode:
        """The notebook with the teacher's own points, as it was when the run first asked. It must not be changed."""
        if name not in self._notebooks:
            path = self.path(name)
            self._notebooks[name] = points.give(
                copy.deepcopy(released_notebook(path, path.stat().st_mtime_ns)), self._own
            )
        return self._notebooks[name]

    def path(self, name: str) -> Path:
        return self._folder("release", ".") / f"{name}.ipynb"

    def published(self, name: str) -> Path:
        """Where the course's own notebook is, if it is there."""
        return self._folder("source", ".") / f"{name}.ipynb"

    def submitted(self, student: str) -> Path:
        return self._folder("submitted", student)

    def graded(self, student: str) -> Path:
        return self._folder("autograded", student)

    def record_points(self) -> None:
        """Writes the points into the gradebook. Raises PointsError."""
        if self._own:
            files = [path for folder in self._folders("*") for path in folder.glob("*.ipynb")]
            points.assert_known(self._own, (released_notebook(path, path.stat().st_mtime_ns) for path in files))
        for name in self.names():
            points.record(self._courses.db_url, self.assignment, name, self.notebook(name))

    def _folder(self, step: str, student: str) -> Path:
        directory = getattr(self._courses, f"{step}_directory")
        return Path(self.root, self._courses.format_path(directory, student, self.assignment))

    def _folders(self, pattern: str) -> list[Path]:
        return [
            Path(path) for path in glob.glob(self._courses.format_path(self._courses.release_directory, ".", pattern))
        ]
