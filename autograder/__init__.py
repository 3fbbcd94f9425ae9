"""The grader: ``check(exercise, function, backend=...)`` returns a report; ``EXERCISES`` is the table of what can be
checked.
"""

from .interpret import choose

choose()  # before anything here imports triton

from .check import check  # noqa: E402
from .exercises import EXERCISES  # noqa: E402
from .report import Report  # noqa: E402

__all__ = ["EXERCISES", "Report", "check"]
