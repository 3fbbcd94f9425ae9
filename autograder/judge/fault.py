"""What is wrong with a result whose values are right."""

from dataclasses import dataclass

from ..results.quality import Quality
from ..run.outcome import Trouble


@dataclass(frozen=True)
class Fault:
    """What a right result does not excuse. See `CaseResult` for kind and cause. late: the time-out, if that is it."""

    message: str
    kind: Quality | None = Quality.CORRECT
    cause: str = ""
    late: Trouble | None = None
