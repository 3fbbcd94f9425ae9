"""The distance of a result from what is right, in words."""

import math

WHOLE = 1e7  # ulp: an error as large as the result itself, of which a count of ulp says nothing
MOSTLY_ULP = 64.0  # ulp: a larger tolerance has an absolute part that is most of it


def ulp(distance: float) -> str:
    """A number of ulp, in words."""
    if not math.isfinite(distance):
        return "NaN or infinity"
    if distance < 1000:
        return f"{distance:.3g} ulp"
    return f"{distance:,.0f} ulp" if distance < WHOLE else f"{distance:.1e} ulp"


def distance(error: float, allowed: float, step: float, whole: bool = False) -> str:
    """Returns how far off, and how far is allowed, in words: in ulp, or in plain numbers where the error is as large as
    the result or the absolute part of the tolerance is most of it. error, allowed: in ulp. step: one ulp. whole:
    whether they are differences of integers.
    """
    if whole:
        return (
            f"{error:,.0f}, where {allowed:,.4g} is allowed" if allowed else f"{error:,.0f}: integers have to be equal"
        )
    if not math.isfinite(error) or not math.isfinite(allowed):
        return ulp(error)
    if allowed <= MOSTLY_ULP and error >= WHOLE and not math.isnan(step):
        return f"{error * step:.2g}, where {allowed * step:.2g} ({allowed:.3g} ulp) is allowed"
    if allowed <= MOSTLY_ULP:
        return f"{ulp(error)}, where {allowed:.3g} {'is' if allowed == 1 else 'are'} allowed"
    return (
        f"{error * step:.2g}, where {allowed * step:.2g} is allowed for the rounding of the terms that it is computed "
        "from; not counted in ulp of the result"
    )


def used(share: float, error: float, allowed: float, step: float, whole: bool) -> str:
    """The same for a right result, after the share of the tolerance that it takes; ``exact`` where it is."""
    return f"{share:.0%} of the tolerance at most: {distance(error, allowed, step, whole)}" if error else "exact"
