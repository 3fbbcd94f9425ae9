"""A course root as nbgrader reads it: its configuration, its submissions, the grader that it names."""

import contextlib
import os
import sys
from pathlib import Path

from nbgrader.apps import AutogradeApp
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException

from ..nbgrader.grade import Grade
from ..nbgrader.submission import Submissions


class NoCourse(Exception):
    """What is to be graded is not there; the message says what to do."""


class Course:
    """The submissions of ``assignment`` in the course at ``root``, with every setting that ``nbgrader autograde`` would
    have there. students: only theirs; all by default. Raises NoCourse.
    """

    def __init__(self, root: Path, assignment: str, students: list[str]):
        app = configured(root)
        with contextlib.chdir(root):
            app.coursedir.assignment_id = assignment
            self.root, self.assignment, self.directory = Path(app.coursedir.root), assignment, app.coursedir
            self._converter = Autograde(coursedir=self.directory, parent=app)
            if not issubclass(self._converter.exporter_class, Submissions):
                raise NoCourse(
                    "nbgrader_config.py does not name this grader; take over its lines from the course's own"
                )
            try:
                self._converter.init_notebooks()
            except NbGraderException as error:
                raise NoCourse(f"{error}. Run `nbgrader autograde {assignment}` to see what lies elsewhere") from None
            self.submissions = self._converter.exporter_class(parent=self._converter, config=self._converter.config)
            self.submissions.students = students
            self.grader = Grade(parent=self.submissions)
            found = self.submissions.chosen()
        unknown = set(students) - set(found.values())
        if unknown:
            raise NoCourse(f"there is no submission of {', '.join(sorted(unknown))} to {assignment}")
        self.folders = sorted((student, self.root / folder) for folder, student in found.items())

    def standard(self, notebook: str) -> dict[str, str]:
        """What decides the verdicts on a notebook besides its answers, as it was when the run first asked."""
        return self.submissions.standard(self.assignment, notebook)

    def graded(self, student: str, notebook: str) -> Path:
        """The file that nbgrader writes the graded notebook to."""
        folder = self.directory.format_path(self.directory.autograded_directory, student, self.assignment)
        return Path(self.root, folder, f"{notebook}.ipynb")


def configured(root: Path) -> AutogradeApp:
    """nbgrader with the configuration that its commands have in this course. Raises NoCourse."""
    if not (root / "nbgrader_config.py").is_file():
        raise NoCourse(f"{root.absolute()} is not a course root. Go there, or name it: --course FOLDER")
    with contextlib.chdir(root):
        app = AutogradeApp()
        app.initialize([])
    return app


def environment() -> dict[str, str]:
    """This process's environment, its Python's programs on the PATH: nbgrader calls ``alembic`` by its bare name."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
