"""What nbgrader's autograde reads: in place of the submitted file, the notebook rebuilt from the released one."""

import fnmatch
import os
from pathlib import Path

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
        released = nbformat.read(self._released(where["assignment"]) / f"{where['notebook']}.ipynb", as_version=4)
        try:
            notebook = rebuild(released, read(filename, self.megabytes, self.code_megabytes))
        except Unreadable as error:
            self.log.warning("%s: %s", filename, error)
            notebook = without_submission(released, str(error))
        return self.from_notebook_node(notebook, resources=resources, **kwargs)

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
        where = self.parent.init_single_notebook_resources(paths[0])["nbgrader"]
        names = [path.stem for path in self._released(where["assignment"]).glob("*.ipynb")]
        for path in paths:
            if Path(path).stem not in names:
                self.log.error("%s is none of the released notebooks (%s). Rename it.", path, ", ".join(sorted(names)))
        for name in fnmatch.filter(names, self.parent.coursedir.notebook_id):
            clear_scores(where["db_url"], where["assignment"], where["student"], name)
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
