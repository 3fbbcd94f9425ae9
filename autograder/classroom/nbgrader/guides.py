"""In formgrader a marking guide below each written answer, for whoever marks it. A guide is in the teacher's source
notebook; it is neither released nor in the feedback.
"""

import functools
import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from .rebuild import RECORD, grade_id, is_answer
from .solution_marks import BEGIN_GUIDE, END_GUIDE

GUIDE = "guide"  # in the metadata of a cell, under our key
WITHOUT = f"{__name__}.WithoutGuides"
_SOLUTION = re.compile(rf"(?s){BEGIN_GUIDE}\s*(.*?)\s*{END_GUIDE}")


class WithGuides(NbGraderPreprocessor):
    """The last of ``Autograde``. Adds none where the configuration does not take them out of the feedback again."""

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """The notebook with a guide below each written answer that has one."""
        if WITHOUT not in self.config.GenerateFeedback.preprocessors:
            return nb, resources
        courses, where = self.parent.parent.coursedir, resources["nbgrader"]
        folder = courses.format_path(courses.source_directory, ".", where["assignment"])
        path = Path(folder, f"{where['notebook']}.ipynb")
        guides = _guides(path, path.stat().st_mtime_ns) if path.exists() else {}
        cells = [cell for cell in nb.cells if not _is_guide(cell)]
        nb.cells = []
        for cell in cells:
            nb.cells.append(cell)
            if cell.cell_type == "markdown" and is_answer(cell) and grade_id(cell) in guides:
                nb.cells.append(_cell(grade_id(cell), guides[grade_id(cell)]))
        return nb, resources


class WithoutGuides(NbGraderPreprocessor):
    """The first of ``GenerateFeedback``."""

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """The notebook without its guides."""
        nb.cells = [cell for cell in nb.cells if not _is_guide(cell)]
        return nb, resources


def _is_guide(cell: NotebookNode) -> bool:
    return GUIDE in cell.metadata.get(RECORD, {})


def _cell(name: str, guide: str) -> NotebookNode:
    quoted = "\n".join(f"> {line}".rstrip() for line in guide.splitlines())
    cell: NotebookNode = nbformat.v4.new_markdown_cell(
        f"> *For whoever marks. Learners do not see it.*\n>\n{quoted}", id=f"{name}-guide"
    )
    cell.metadata[RECORD] = {GUIDE: name}
    return cell


@functools.lru_cache(maxsize=8)
def _guides(path: Path, changed: int) -> dict[str, str]:
    """The guides in the source notebook by grade id, read once unless it has ``changed``."""
    cells = [
        cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown" and is_answer(cell)
    ]
    matches = {grade_id(cell): _SOLUTION.search(cell.source) for cell in cells}
    return {name: match[1] for name, match in matches.items() if match}
