"""What nbgrader's autograde reads: in place of the submitted file, the notebook rebuilt from the released one."""

import os

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader.api import Gradebook, MissingEntry
from traitlets import Float

from .reading import Unreadable, read
from .rebuild import rebuild, without_submission


class Submissions(NotebookExporter):
    """The ``exporter_class`` of ``Autograde``.

    nbgrader's own reads the file before any preprocessor sees it. It gives up there if the file is broken, and gives up
    the whole batch if a cell was copied.
    """

    megabytes = Float(50, help="The size of a submitted notebook, in MB, above which it is not read.").tag(config=True)
    code_megabytes = Float(1, help="The same for its code and text alone, without outputs.").tag(config=True)

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._teachers_hook = self.parent.pre_convert_hook
        self.parent.pre_convert_hook = self._before

    def from_filename(self, filename, resources=None, **kwargs):
        where = resources["nbgrader"]
        courses = self.parent.coursedir
        submitted = courses.format_path(courses.submitted_directory, where["student"], where["assignment"])
        if os.path.normpath(os.path.dirname(filename)) != os.path.normpath(submitted):
            # The second pass, over the notebook that the first one made.
            return super().from_filename(filename, resources=resources, **kwargs)
        released = nbformat.read(self._released(where), as_version=4)
        try:
            notebook = rebuild(released, read(filename, self.megabytes, self.code_megabytes))
        except Unreadable as error:
            self.log.warning("%s: %s", filename, error)
            notebook = without_submission(released, str(error))
        return self.from_notebook_node(notebook, resources=resources, **kwargs)

    def _released(self, where: dict) -> str:
        courses = self.parent.coursedir
        folder = courses.format_path(courses.release_directory, ".", where["assignment"])
        path = os.path.join(folder, where["notebook"] + ".ipynb")
        if not os.path.exists(path):
            command = f"nbgrader generate_assignment {where['assignment']} --force"
            raise FileNotFoundError(f"{path}, the notebook that was released, is missing. Make it again: {command}")
        return path

    def _before(self, **which) -> None:
        """Runs before a submission is touched: its old scores must not outlive a run that fails."""
        wheres = [self.parent.init_single_notebook_resources(path)["nbgrader"] for path in self.parent.notebooks]
        for where in wheres:
            self._released(where)  # without it nothing will be graded, and nothing is to be cleared
            clear_scores(**where)
        if self._teachers_hook:
            self._teachers_hook(**which)


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
