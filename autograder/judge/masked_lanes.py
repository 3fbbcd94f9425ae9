"""Whether a right result depends on what masked-off lanes of a load without ``other`` hold, which Triton leaves open.

With NaN in them, as in a first call, a maximum is right: it drops NaN. So they hold 0 as well, as today's NVIDIA
backends fill them, and a large number.
"""

from collections.abc import Iterable

from ..emulator import Finding
from ..results.quality import Quality
from ..results.sentences import sentence
from .fault import Fault

LARGE = 1e4  # finite in float16, and larger than what a loss or an activation is made of
FILLED = "With 0 in these lanes, as today's NVIDIA backends fill them"


def fault(hints: Iterable[Finding], ending: str, kind: Quality) -> Fault:
    """The fault of a result that relies on these lanes. hints: of the call. ending: how that was seen. kind:
    `Quality.CORRECT` where no backend gives the right values.
    """
    suspects = [hint for hint in hints if hint.kind == "masked-load"]
    message = suspects[0].message if suspects else "A load has a mask and no `other`."
    more = "".join(f" Look at this one, too: {sentence(hint.kind, hint.place)}" for hint in suspects[1:3])
    place = suspects[0].place if suspects else ""
    near = 0.0 if kind is Quality.CORRECT else 1.0
    return Fault(f"{message}{more} {ending}", "lanes", place, kind, near=near)
