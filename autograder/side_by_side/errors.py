"""What is said of a reference, a candidate or arguments that cannot be compared."""


class CompareError(ValueError):
    """One sentence, with what to change."""
