"""What every command shares: its exit status, and what it says of a command line that cannot be carried out."""

PASSED, NOT_PASSED, USAGE = 0, 1, 2


class UsageError(Exception):
    """A command line that cannot be carried out; the message names the remedy."""
