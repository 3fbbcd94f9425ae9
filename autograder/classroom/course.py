"""A course root as nbgrader reads it: its configuration, its submissions, the grader that it names."""

import contextlib
from pathlib import Path

from nbgrader.apps import AutogradeApp, autogradeapp
from nbgrader.converters.base import NbGraderException

from ..judge import Job
from ..runner import Answer
from .nbgrader.autograde import Autograde
from .nbgrader.grade_cells import Grade


class NoCourse(Exception):
    """Holds what is to be graded is not there; the message says what to do."""


class Course:
    """The submissions of ``assignment`` in the course at ``root``, with every setting that ``nbgrader autograde`` would
    have there. students: only theirs; all by default. Raises NoCourse.

    run: what will grade them; grader: the settings.
    """

    def __init__(self, root: Path, assignment: str, students: list[str]):
        app = configured(root)
        if autogradeapp.Autograde is not Autograde:
            raise NoCourse("nbgrader_config.py does not install this grader; take over its lines from the course's own")
        with contextlib.chdir(root):
            app.coursedir.assignment_id = assignment
            self.root, self.assignment = Path(app.coursedir.root), assignment
            self.run = Autograde(coursedir=app.coursedir, parent=app, students=students)
            self.grader = Grade(parent=self.run)
            try:
                self.run.init_notebooks()
            except NbGraderException as error:
                raise NoCourse(str(error)) from None
        unknown = set(students) - {self.run.student_of(folder) for folder in self.run.assignments}
        if unknown:
            raise NoCourse(f"there is no submission of {', '.join(sorted(unknown))} to {assignment}")

    def job(self, answer: Answer, backend: str) -> Job:
        """The check of an answer to this assignment."""
        return self.grader.job(self.run.released, answer, backend)

    def autograde(self, force: bool) -> int:
        """Grades them with the verdicts that there are, and returns the exit status."""
        self.run.force = force
        try:
            self.run.start()
        except NbGraderException:  # it is in the log
            return 1
        except SystemExit as ended:
            return int(ended.code or 0)
        return 0


def configured(root: Path) -> AutogradeApp:
    """nbgrader with the configuration that its commands have in this course. Raises NoCourse."""
    if not (root / "nbgrader_config.py").is_file():
        raise NoCourse(f"{root.absolute()} is not a course root. Go there, or name it: --course FOLDER")
    with contextlib.chdir(root):
        app = AutogradeApp()
        app.initialize([])
    return app
