"""Times of submission in formgrader. nbgrader reads every learner's `timestamp.txt` to list the submissions: one that
holds no time would end the list of the whole class, and one that is a pipe would never end.
"""

from datetime import datetime

from nbgrader.apps.api import NbGraderAPI

from . import folder


def install() -> None:
    """For this process: a time that cannot be read is one that is missing, as in a grading run."""
    NbGraderAPI.get_submitted_timestamp = _submitted


def _submitted(api: NbGraderAPI, assignment_id: str, student_id: str) -> datetime | None:
    """In place of `NbGraderAPI.get_submitted_timestamp`."""
    place = api.coursedir.format_path(api.coursedir.submitted_directory, student_id, assignment_id)
    try:
        return folder.submission_time(place)
    except folder.BadTime:
        return None
