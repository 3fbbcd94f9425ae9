"""Says what is graded: an assignment as it was released, and what a learner handed in for it, read once: for the
cluster that makes verdicts, and for the gradebook.
"""

import copy
import fnmatch
import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory

from ...judge import Job
from ...runner import Answer, Cell
from . import other_files, points
from .notebook_file import UnreadableSubmission, plain
from .other_files import answers, digest, renamed, why_unread
from .pages import NotGradable, notes_output
from .reader import Reader
from .rebuild import (
    DOUBT,
    NOTES,
    PYTHON,
    RECORD,
    UNREAD,
    exercise_of,
    grade_id,
    is_answer,
    is_check,
    records_beside,
    released_notebook,
    with_notes,
    without_submission,
)

Stop = dict[str, Any]  # the cell whose own statements ended a check, and the reason: `Verdict.stopped_in`


class NotReleased(Exception):
    """Holds what was released cannot be graded by; the message says why, or how to make it."""


class Released:
    """The notebooks of the assignment that ``courses`` names. own: the teacher's points (`points`)."""

    def __init__(self, courses: CourseDirectory, own: Mapping[str, float]):
        self._courses, self._own = courses, own
        self.root, self.assignment = Path(courses.root), courses.assignment_id
        self.own_points = points.of_assignment(own, self.assignment)  # by cell
        self._notebooks: dict[str, NotebookNode] = {}
        self._entered = False
        self._records: dict[str, str] = {}

    def names(self) -> list[str]:
        """The notebooks that were released, as far as this run grades them. Raises NotReleased."""
        names = sorted(path.stem for folder in self._folders(self.assignment) for path in folder.glob("*.ipynb"))
        if not names:
            where = self._folder("release", ".")
            command = f"nbgrader generate_assignment {self.assignment} --force"
            raise NotReleased(f"{where}, the assignment as it was released, is missing. Make it again: {command}")
        if not self._entered:
            self._assert_entered(names)
        return fnmatch.filter(names, self._courses.notebook_id)

    def records(self) -> dict[str, Path]:
        """The files of the records that were released beside the notebooks, by exercise."""
        return records_beside(self._folder("release", "."))

    def record(self, exercise: str) -> str:
        """The text of the released record, as it was when the run first asked; "" where there is none."""
        if exercise not in self._records:
            path = self.records().get(exercise)
            self._records[exercise] = path.read_text(encoding="utf-8") if path else ""
        return self._records[exercise]

    def _assert_entered(self, names: list[str]) -> None:
        """Raises NotReleased where the gradebook has no entry, without which no score can be kept."""
        with Gradebook(self._courses.db_url) as gradebook:
            for name in names:
                try:
                    gradebook.find_notebook(name, self.assignment)
                except MissingEntry:
                    command = f"nbgrader generate_assignment {self.assignment} --force"
                    raise NotReleased(f"The gradebook has no {self.assignment}/{name}. Enter it: {command}") from None
        self._entered = True

    def notebook(self, name: str) -> NotebookNode:
        """The notebook with the teacher's own points, as it was when the run first asked. It must not be changed."""
        if name not in self._notebooks:
            path = self.path(name)
            self._notebooks[name] = points.give(
                copy.deepcopy(released_notebook(path, path.stat().st_mtime_ns)), self.own_points
            )
        return self._notebooks[name]

    def path(self, name: str) -> Path:
        """The path of the released notebook."""
        return self._folder("release", ".") / f"{name}.ipynb"

    def published(self, name: str) -> Path:
        """Where the course's own notebook is, if it is there."""
        return self._folder("source", ".") / f"{name}.ipynb"

    def submitted(self, student: str) -> Path:
        """The folder with what the student handed in."""
        return self._folder("submitted", student)

    def graded(self, student: str) -> Path:
        """The folder with the student's graded notebooks."""
        return self._folder("autograded", student)

    def record_points(self) -> None:
        """Writes the points into the gradebook. Raises PointsError."""
        if self._own:
            files = [path for folder in self._folders("*") for path in folder.glob("*.ipynb")]
            points.assert_known(
                self._own, ((path.parent.name, released_notebook(path, path.stat().st_mtime_ns)) for path in files)
            )
        for name in self.names():
            points.record(self._courses.db_url, self.assignment, name, self.notebook(name))

    def _folder(self, step: str, student: str) -> Path:
        directory = getattr(self._courses, f"{step}_directory")
        return Path(self.root, self._courses.format_path(directory, student, self.assignment))

    def _folders(self, pattern: str) -> list[Path]:
        return [
            Path(path) for path in glob.glob(self._courses.format_path(self._courses.release_directory, ".", pattern))
        ]


@dataclass
class CheckCell:
    """A check cell's answer: the notebook's code in order up to the check. Cells between the answer and its check may
    hold a helper, and a learner who runs the check has run them.
    """

    answer: Answer
    backend: str
    _jobs: dict[tuple[Cell, ...], Job] = field(default_factory=dict)

    def job(
        self, stopped: dict[str, str], job_of: Callable[[Answer, str], Job], stopped_in: Callable[[Job], Stop | None]
    ) -> Job:
        """The job whose verdict counts. Cells that do not end are left out but for their definitions, and noted in
        ``stopped``: they cost what depends on them, and one look at each.

        stopped: the notebook's other cells that were found to stop, with the reason; stopped_in: what stopped the check
        of a job, None where nothing did or there is no verdict yet.
        """
        while True:
            kept = self.answer.without(stopped)
            job = self._jobs.get(kept.cells) or self._jobs.setdefault(kept.cells, job_of(kept, self.backend))
            stop = stopped_in(job)
            if stop:
                stopped[stop["cell"]] = stop["reason"]
            if not stop or self.answer.without(stopped) == kept:  # nothing stopped, or the answer's own cell did
                return job


class Notebook:
    """A submitted notebook, rebuilt from the released one.

    name: ``ada, 01_silu``. unread: why it was not read, "" where it was; remedy: the command that has it read, or "".
    """

    def __init__(self, name: str, node: NotebookNode, remedy: str = ""):
        self.name, self.node, self.remedy = name, node, remedy
        self.unread: str = node.metadata.get(RECORD, {}).get(UNREAD, "")
        code = {} if self.unread else running_code(node)
        places = [] if self.unread else [index for index, cell in enumerate(node.cells) if is_check(cell)]
        self._checks = {grade_id(node.cells[index]): _check(node, code, index) for index in places}

    def check(self, name: str) -> CheckCell:
        """The check of this grade id. Raises NotGradable."""
        cell = self._checks[name]
        if isinstance(cell, NotGradable):
            raise cell
        return cell

    def jobs(self, job_of: Callable[[Answer, str], Job], stopped_in: Callable[[Job], Stop | None]) -> Iterator[Job]:
        """The jobs whose verdicts it takes, as far as is known; the arguments are those of `CheckCell.job`."""
        stopped: dict[str, str] = {}
        for check in self._checks.values():
            if isinstance(check, CheckCell):
                yield check.job(stopped, job_of, stopped_in)


class Submission:
    """The folder of one student: its notebooks by name, and what else lies there.

    digest: of what was read (`other_files.digest`). left_out: the other files that are not copied, and why. missing:
    the notebooks that were not handed in.
    """

    def __init__(self, released: Released, reader: Reader, student: str, handed_in: Iterable[str], megabytes: float):
        """handed_in: the names of the notebooks in the folder."""
        self.folder, self._released, self._reader = released.submitted(student), released, reader
        self.digest, self.left_out = digest(self.folder, megabytes), other_files.left_out(self.folder, megabytes)
        names = released.names()
        self.missing: list[str] = []
        others, odd = sorted(set(handed_in) - set(names)), list[str]()
        nodes: dict[str, tuple[NotebookNode | str, str]] = {}
        for name in names:
            node, remedy = self._read(name, name), ""
            if others:
                node, remedy, more = self._compared(name, node, others)
                odd += more
            if os.path.lexists(self.folder / f"{name}.ipynb") or remedy:
                nodes[name] = node, remedy
            else:
                self.missing.append(name)
        notes = other_files.notes(self.left_out) + odd
        self.notebooks = {
            name: Notebook(f"{student}, {name}", self._noted(name, node, notes), remedy)
            for name, (node, remedy) in nodes.items()
        }

    def _read(self, stem: str, name: str) -> NotebookNode | str:
        """The file ``stem`` rebuilt as the notebook ``name``, or why it cannot be read."""
        paths = self._released.path(name), self._released.published(name)
        try:
            return self._reader.rebuilt(self.folder / f"{stem}.ipynb", *paths)
        except UnreadableSubmission as error:
            return f"The submitted file {error}"

    def _noted(self, name: str, node: NotebookNode | str, notes: list[str]) -> NotebookNode:
        if isinstance(node, str):
            return without_submission(self._released.notebook(name), node, notes)
        return with_notes(node, notes + node.metadata.get(RECORD, {}).get(NOTES, []))

    def _compared(
        self, name: str, node: NotebookNode | str, others: list[str]
    ) -> tuple[NotebookNode | str, str, list[str]]:
        """The notebook, or why it is not what the learner meant and the command that has another one read; and notes on
        the ``others`` beside it.
        """
        nodes = {stem: self._read(stem, name) for stem in others}
        released = self._released.notebook(name)
        answered = {
            stem: None if isinstance(notebook, str) else answers(released, notebook) for stem, notebook in nodes.items()
        }
        mine = None if isinstance(node, str) else answers(released, node)
        if sentence := why_unread(self.folder, name, answered, mine):
            here = Path(os.path.relpath(self.folder, self._released.root))
            commands = [renamed(here / f"{other}.ipynb", here / f"{name}.ipynb") for other in others]
            return sentence, f" To have it read: {' OR '.join(commands)}", []
        different = [other for other in others if answered[other] and answered[other] != mine]
        odd = [f"`{plain(stem)}.ipynb` beside it, with other answers, was not read." for stem in different]
        broken = [other for other in others if answered[other] is None]
        return node, "", odd + [f"`{plain(stem)}.ipynb` beside it cannot be read." for stem in broken]


def running_code(nb: NotebookNode) -> dict[int, Cell]:
    """The code that runs (`rebuild.runs`), by index of its cell, as Python: what the reader found, which is taken out
    of the notebook. What had to be left out of the learner's is noted under the cell.
    """
    code = {}
    for index, cell in enumerate(nb.cells):
        if python := cell.metadata.get(RECORD, {}).pop(PYTHON, None):
            code[index] = Cell(grade_id(cell) or cell.id, python["code"])
            cell.outputs = [notes_output(python["notes"])] if python["notes"] else []
    return code


def _check(nb: NotebookNode, code: dict[int, Cell], index: int) -> CheckCell | NotGradable:
    """The check in the cell at ``index``, or why it cannot be graded."""
    name = grade_id(nb.cells[index])
    answer_id = name.removesuffix("-check")
    ids = {grade_id(cell): number for number, cell in enumerate(nb.cells[:index]) if is_answer(cell)}
    if answer_id == name or answer_id not in ids:
        return NotGradable(f"`{name}` does not follow an answer cell of the same name")
    at = ids[answer_id]
    if doubt := nb.cells[at].metadata.get(RECORD, {}).get(DOUBT):
        return NotGradable(doubt)
    cells = tuple(cell for number, cell in code.items() if number < index)
    exercise, backend = exercise_of(answer_id)
    return CheckCell(Answer(exercise, cells, after=sum(at < number < index for number in code)), backend)
