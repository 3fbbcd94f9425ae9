"""nbgrader's settings for this course: the folder of this file is the course root."""

import os

from graded_kernels.autograder.classroom.nbgrader import interrupt

interrupt.install()  # before the imports that take seconds

from graded_kernels.autograder.classroom.nbgrader import autograde, markdown  # noqa: E402
from nbgrader.server_extensions import formgrader  # noqa: E402

autograde.install()  # our own converter, for `nbgrader autograde` and formgrader's button

c = get_config()  # type: ignore[name-defined]  # noqa: F821  traitlets defines it

c.CourseDirectory.course_id = "graded-kernels"
c.CourseDirectory.root = os.path.dirname(os.path.abspath(__file__))

# Outside of the course root, which is the teacher's own. Where several accounts hand in, see RUNNING.md.
c.Exchange.root = os.path.join(os.path.dirname(c.CourseDirectory.root), "exchange")

# `raise`, nbgrader's own stub, does not compile inside @triton.jit; `...` does.
c.ClearSolutions.code_stub = {"python": "...  # YOUR CODE HERE"}

# Our own grader in place of nbgrader's run of the notebook: see graded_kernels.autograder.classroom.nbgrader.
c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.OverwriteCells",
    "graded_kernels.autograder.classroom.nbgrader.gradebooks.CheckCells",
]
c.Autograde.autograde_preprocessors = [
    "graded_kernels.autograder.classroom.nbgrader.grade_cells.Grade",
    "graded_kernels.autograder.classroom.nbgrader.grade_cells.SaveScores",
    "nbgrader.preprocessors.AssignLatePenalties",
    "graded_kernels.autograder.classroom.nbgrader.gradebooks.CheckCells",
    "graded_kernels.autograder.classroom.nbgrader.guides.WithGuides",
]

# nbconvert checks a notebook against its schema once it is complete, not after each of these.
c.NotebookExporter.optimistic_validation = True

# A CSV in which a comma in a name does no harm, and no 0 stands for what was not graded.
c.ExportApp.plugin_class = "graded_kernels.autograder.classroom.nbgrader.export.Grades"

# Feedback shows scores and reports, not the source of tests that were hidden.
c.GenerateFeedback.preprocessors = [
    "graded_kernels.autograder.classroom.nbgrader.guides.WithoutGuides",  # else graded notebooks have no marking guide
    "graded_kernels.autograder.classroom.nbgrader.pages.Scores",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]

# Feedback and formgrader's pages without MathJax, which needs a network. The second folder is nbgrader's own.
c.HTMLExporter.extra_template_basedirs = [
    os.path.join(os.path.dirname(markdown.__file__), "templates"),
    os.path.join(os.path.dirname(formgrader.__file__), "templates"),
]

c.HTMLExporter.template_file = "page.html.j2"  # of ours, with what waits for a person and the exercises' names

# Markdown of a learner, in feedback and in formgrader: HTML that only formats, no scripts.
# The code of a learner: coloured where that takes a bounded time.
_OURS = "graded_kernels.autograder.classroom.nbgrader"
c.HTMLExporter.filters = {
    "markdown2html": f"{_OURS}.markdown.safe_markdown",
    "highlight_code": f"{_OURS}.code_colours.coloured",
}

# For `nbgrader validate` and `generate_solution`, which run every cell.
c.Execute.timeout = 120

# Your own settings: lines as these, in a file that git ignores, so that an update of the course meets none of them.
load_subconfig("teacher_config.py", path=c.CourseDirectory.root)  # type: ignore[name-defined]  # noqa: F821
