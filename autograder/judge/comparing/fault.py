"""Says what is wrong with a result whose values are right.

One depends on what masked-off lanes of a load without ``other`` hold, which Triton leaves open: a first call has NaN in
them, and a second 0, as today's NVIDIA backends fill them; then come the others of `LANE_VALUES`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ...gpu import LANE_VALUES, RULES, Finding
from ...runner import Trouble
from ...words import Quality
from ..records.category import Flaw
from ..results.sentences import sentence
from .closeness import Expected

FURTHER = {name: value for name, value in LANE_VALUES.items() if value and value == value}  # neither 0 nor NaN
FILLED = "With 0 in these lanes, as today's NVIDIA backends fill them"


@dataclass(frozen=True)
class Fault:
    """Holds what a right result does not excuse. See `CaseResult` for kind, code and place. late: the trouble, if that
    is a time-out, or of a cell that the answer's process was loading: the answer is not called again.

    flaw: that of a side effect; or that of values, where another call gave wrong ones, or none. near: as `CaseResult`
        has it, of that call.
    """

    message: str
    code: str
    place: str = ""
    kind: Quality | None = Quality.CORRECT
    late: Trouble | None = None
    flaw: Flaw = Flaw.EFFECT
    near: float = 1.0

    @classmethod
    def of(cls, finding: Finding) -> "Fault":
        """Returns what the emulator found; a GPU has other values where it leaves open what is computed."""
        flaw, near = (Flaw.VALUES, 0.0) if RULES[finding.kind].undefined else (Flaw.EFFECT, 1.0)
        return cls(finding.message, finding.kind, finding.place, flaw=flaw, near=near)


def worst(findings: Iterable[Finding]) -> Finding | None:
    """The first finding by which a GPU has other values, or else the first, whose mending would show it."""
    return min(findings, key=lambda finding: not RULES[finding.kind].undefined, default=None)


def counted(expected: Expected, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings without unwritten elements of a result of which some may hold anything: its values tell."""
    masks = expected.unwritten or ()
    left_open = {name for name, mask in zip(expected.names, masks, strict=False) if mask.any()}
    return tuple(finding for finding in findings if finding.kind != "unwritten" or finding.tensor not in left_open)


def of_lanes(hints: Iterable[Finding], ending: str, kind: Quality) -> Fault:
    """The fault of a result that relies on these lanes. hints: of the call. ending: how that was seen. kind:
    `Quality.CORRECT` where no backend gives the right values.
    """
    suspects = [hint for hint in hints if hint.kind == "masked-load"]
    message = suspects[0].message if suspects else "A load has a mask and no `other`."
    more = "".join(f" Look at this one, too: {sentence(hint.kind, hint.place)}" for hint in suspects[1:3])
    place = suspects[0].place if suspects else ""
    flaw, near = (Flaw.VALUES, 0.0) if kind is Quality.CORRECT else (Flaw.EFFECT, 1.0)
    return Fault(f"{message}{more} {ending}", "lanes", place, kind, flaw=flaw, near=near)
