"""What is said of a reference, a candidate or arguments that cannot be compared."""

from ...runner import CompareError

__all__ = ["CandidateError", "CompareError"]


class CandidateError(CompareError):
    """The candidate is the reason: there is no such function, it cannot be loaded, or it takes other arguments."""
