"""The gradebook's database: whether a run can write it, who else holds it, and taking back old scores."""

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import make_url

PATIENCE = 600  # seconds that a statement waits for SQLite's lock
PAUSE = 0.5
HELD = "Another program holds the gradebook (%s). Waiting until it lets go; stop here with Ctrl-C."


def prepare(courses: CourseDirectory, tell: Callable[..., None]) -> None:
    """Has statements wait for a lock of SQLite's, and waits for one that is held now. tell: is told, as a logger is.

    Grading a class takes long, and nbgrader writes last: raises PermissionError where it could not.
    """
    book = make_url(courses.db_url)
    files = [book.database, os.path.dirname(book.database or "")] if book.get_backend_name() == "sqlite" else []
    graded = Path(courses.format_path(courses.autograded_directory, ".", ".")).absolute()
    files.append(str(next(folder for folder in (graded, *graded.parents) if folder.exists())))
    for path in files:
        if path and os.path.exists(path) and not os.access(path, os.W_OK):
            raise PermissionError(f"{path} cannot be written")
    if files[0] == book.database and book.database:
        courses.db_url = book.update_query_dict({"timeout": str(PATIENCE)}).render_as_string(hide_password=False)
        wait(courses.db_url, tell)


def wait(db_url: str, tell: Callable[..., None]) -> None:
    """Until nobody else holds SQLite's lock for writing; other databases wait by themselves."""
    book, told = make_url(db_url), False
    if book.get_backend_name() != "sqlite" or not book.database or not os.path.exists(book.database):
        return
    while _is_held(book.database):
        if not told:
            tell(HELD, book.database)
        told = True
        time.sleep(PAUSE)


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


def _is_held(database: str) -> bool:
    with closing(sqlite3.connect(database, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                return True
            raise
    return False
