"""What is wrong with a result whose values are right."""

from dataclasses import dataclass

from ..gpu import Finding
from ..runner import Trouble
from ..words import Quality


@dataclass(frozen=True)
class Fault:
    """What a right result does not excuse. See `CaseResult` for kind, code and place. late: the trouble, if that is a
    time-out, or of a cell that the answer's process was loading: the answer is not called again.

    near: as `CaseResult` has it, of a call that gave another result; 0 of one that gave none.
    """

    message: str
    code: str
    place: str = ""
    kind: Quality | None = Quality.CORRECT
    late: Trouble | None = None
    near: float = 1.0

    @classmethod
    def of(cls, finding: Finding) -> "Fault":
        """What the emulator found."""
        return cls(finding.message, finding.kind, finding.place)
