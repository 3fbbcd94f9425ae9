"""nbgrader's gradebook and its check of cells, each made ready once for all notebooks of a run.

nbgrader opens the gradebook a dozen times for a notebook. Each time it looks for every table, and has SQLAlchemy
compile every statement anew. Its check of cells reads its schema, and checks the schema, for each cell.
"""

import contextlib
import json
from collections.abc import Iterator
from typing import Any, ClassVar

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import CheckCellMetadata
from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import scoped_session, sessionmaker


@contextlib.contextmanager
def ready_once() -> Iterator[None]:
    """While the context lasts, gradebooks of one address share what SQLAlchemy compiled. Each still has a connection
    and a transaction of its own, and closes both: other programs see, and are seen, as before.
    """
    ready: dict[tuple[str, str], Engine] = {}
    original = Gradebook.__init__

    def opened(book: Gradebook, db_url: str, course_id: str = "default_course", authenticator: Any = None) -> None:
        if (db_url, course_id) not in ready:
            original(book, db_url, course_id, authenticator)
            ready[db_url, course_id] = create_engine(db_url, future=True)
            return
        book.engine, book.course_id, book.authenticator = ready[db_url, course_id], course_id, authenticator
        book.db = scoped_session(sessionmaker(autoflush=True, bind=book.engine, future=True))

    Gradebook.__init__ = opened
    try:
        yield
    finally:
        Gradebook.__init__ = original


class CheckCells(CheckCellMetadata):
    """nbgrader's own, asked once for the same metadata: all notebooks of an assignment have that of the released one,
    or a rebuilt notebook is not one of it.
    """

    _right: ClassVar[set[str]] = set()

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """The notebook as it is. Raises ValidationError where nbgrader could not work with a cell."""
        cells = [(cell.cell_type, cell.metadata.nbgrader) for cell in nb.cells if "nbgrader" in cell.metadata]
        if (form := json.dumps(cells, sort_keys=True)) not in self._right:
            super().preprocess(nb, resources)
            self._right.add(form)
        return nb, resources
