"""Whether a right result depends on what masked-off lanes of a load without ``other`` hold, which Triton leaves open.

With NaN in them, as in a first call, a maximum is right: it drops NaN. So they hold 0 as well, as today's NVIDIA
backends fill them, and a large number.
"""

from collections.abc import Iterable

from ..emulator import Finding
from ..results.quality import Quality
from .fault import Fault

LARGE = 1e4  # finite in float16, and larger than what a loss or an activation is made of
FILLED = "With 0 in these lanes, as today's NVIDIA backends fill them"


def fault(hints: Iterable[Finding], ending: str, kind: Quality) -> Fault:
    """The fault of a result that relies on these lanes. hints: of the call. ending: how that was seen. kind:
    `Quality.CORRECT` where no backend gives the right values.
    """
    suspects = [hint for hint in hints if hint.kind == "masked-load"]
    message = suspects[0].message if suspects else "A load has a mask and no `other`."
    more = "".join(f" Look at this one, too: {hint.cause}" for hint in suspects[1:3])
    cause = f"{suspects[0].cause} The result depends on what masked-off lanes hold." if suspects else ""
    return Fault(f"{message}{more} {ending}", kind, cause, near=0.0 if kind is Quality.CORRECT else 1.0)
