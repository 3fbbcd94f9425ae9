"""Hints that a course has come late: ``c.Hints.after = 2`` in the teacher's configuration."""

import re
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Integer

from .rebuild import is_check

_CALL = re.compile(r"check\(.*\)")


class Hints(NbGraderPreprocessor):
    """The first of ``GenerateAssignment``: writes into released checks when a report has its hints."""

    after = Integer(0, min=0, help="Failed checks of an exercise whose reports have no hint.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """The notebook, as it is where hints come at once."""
        for cell in filter(is_check, nb.cells):
            if self.after and _CALL.fullmatch(cell.source):
                cell.source = f"{cell.source.removesuffix(')')}, hints_after={self.after})"
        return nb, resources
