"""Private names of nbgrader's converters on which grading rests: here, and nowhere else in `classroom`.

Seen in nbgrader 0.9.6. Each says what does not work where its name is gone.
"""

from pathlib import Path
from typing import Any


def destination(converter: Any, assignment_id: str, student_id: str) -> Path:
    """The folder that a converter writes to: what was released or graded could not be kept or completed."""
    return Path(converter._format_dest(assignment_id, student_id))


def is_first_pass(converter: Any) -> bool:
    """Says whether ``Autograde`` rebuilds a submission, and does not run it yet: notebooks would be rebuilt twice."""
    return bool(converter._sanitizing)
