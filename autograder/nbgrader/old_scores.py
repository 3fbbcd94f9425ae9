"""Scores of an earlier run, which must not outlive one that fails."""

from nbgrader.api import Gradebook, MissingEntry


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
