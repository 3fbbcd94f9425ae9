"""Points for lateness; nbgrader's own plugin takes none, or all."""

import math

from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Float


class PerDay(LateSubmissionPlugin):
    """Takes a share of a late notebook's points for every day that was begun, never more than there are."""

    share = Float(0.1, help="Of the notebook's score, for every day that was begun.").tag(config=True)
    grace_seconds = Float(0.0, help="Of lateness that costs nothing.").tag(config=True)

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float | None:
        """None where nothing is taken."""
        if total_seconds_late <= self.grace_seconds:
            return None
        return round(score * min(1.0, self.share * math.ceil(total_seconds_late / 86_400)), 2)
