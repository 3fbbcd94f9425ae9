"""Which verdicts the notebooks of a class need. A notebook is rebuilt here as nbgrader's autograde will have it."""

import contextlib
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path

from nbformat import NotebookNode

from ..nbgrader.checks import answer_to, is_check, learners_code
from ..nbgrader.contents import digest, graded_from
from ..nbgrader.outputs import NotGradable
from ..nbgrader.reading import Unreadable
from ..nbgrader.standard import changes
from ..run.answer import Answer
from ..verdicts.job import Job
from .course import Course


class Notebook:
    """A learner's notebook, rebuilt from the released one, and the checks in it. name: ``ada, 01_silu``."""

    def __init__(self, course: Course, name: str, path: Path):
        self.name = name
        notebook = course.submissions.rebuilt(path, course.assignment, path.stem)
        self._checks = list(_checks(notebook))
        self._job = functools.partial(course.grader.job, course.root, course.assignment)
        self._jobs: dict[tuple, Job] = {}

    def jobs(self, known: Mapping[str, dict | None]) -> Iterator[Job]:
        """The jobs whose verdicts it takes, as far as is known. known: for every verdict that was made, by its key,
        the cell that stopped it (`Verdict.stopped_in`): later answers are checked without that cell.
        """
        stopped: dict[str, str] = {}
        for number, (answer, backend) in enumerate(self._checks):
            while True:
                kept = answer.without(stopped)
                place = (number, kept.cells)
                job = self._jobs.get(place) or self._jobs.setdefault(place, self._job(kept, backend))
                yield job
                stop = known.get(job.key)
                if stop:
                    stopped[stop["cell"]] = stop["reason"]
                if not stop or answer.without(stopped) == kept:
                    break


def _checks(notebook: NotebookNode) -> Iterator[tuple[Answer, str]]:
    """Yields the answer and the backend of each check that can be graded."""
    learners = learners_code(notebook)
    for index, cell in enumerate(notebook.cells):
        if is_check(cell):
            with contextlib.suppress(NotGradable):
                yield answer_to(notebook, learners, index)


def notebooks(course: Course, force: bool) -> Iterator[Notebook]:
    """Yields the notebooks that nbgrader's autograde would grade now. It deals with those that cannot be read."""
    for student, folder in course.folders:
        submitted = digest(folder, course.submissions.megabytes)
        for name in course.submissions.names(course.assignment):
            path = folder / f"{name}.ipynb"
            graded = course.graded(student, name)
            before = graded_from(graded) if graded.is_file() and not force else None
            if before and before.submitted == submitted:
                if not changes(before.standard, course.standard(name)):
                    continue
            try:
                yield Notebook(course, f"{student}, {name}", path)
            except Unreadable:
                continue
