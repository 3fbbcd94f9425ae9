"""Which submissions ``nbgrader autograde`` finds, where it would find none, and where one would end the run.

nbgrader looks for submissions before it makes the exporter, and ends there if it finds none. Whatever was handed in
lies elsewhere then, so this is the run that most needs the list of it.
"""

import contextlib
import os
from pathlib import Path

from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory

from .summary import Summary
from .survey import elsewhere, unfit


def not_read(courses: CourseDirectory) -> list[str]:
    """A line for whatever lies below ``submitted/`` and is not read. The working directory is the course root."""
    released = {path.name: {n.stem for n in path.glob("*.ipynb")} for path in Path(_released(courses)).glob("*")}
    submitted = Path(os.path.relpath(courses.format_path(courses.submitted_directory, ".", "."), courses.root))
    return list(elsewhere(submitted, released, courses.assignment_id, courses.student_id))


def install(exporter: type) -> None:
    """Has nbgrader's search for submissions leave out those with an unfit name, and end with that list where it finds
    none, in courses that grade with this exporter.
    """
    find = Autograde.init_notebooks

    def init_notebooks(self: Autograde) -> None:
        try:
            find(self)
            if issubclass(self.exporter_class, exporter):
                self.assignments = {folder: notebooks for folder, notebooks in self.assignments.items() if _fit(folder)}
                if not self.assignments:
                    raise NbGraderException(
                        "There is no submission whose folder has a name that nbgrader can work with"
                    )
        except NbGraderException:
            if issubclass(self.exporter_class, exporter):
                with contextlib.chdir(self.coursedir.root):
                    self.log.error("%s", Summary(elsewhere=not_read(self.coursedir)))
            raise

    Autograde.init_notebooks = init_notebooks


def _fit(folder: str) -> bool:
    return not any(unfit(part) for part in Path(folder).parts)


def _released(courses: CourseDirectory) -> str:
    return courses.format_path(courses.release_directory, ".", ".")
