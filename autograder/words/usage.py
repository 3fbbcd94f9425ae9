"""What the commands share: exit statuses, the error that ends one, and readers of options."""

import argparse
from enum import IntEnum
from pathlib import Path
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class Exit(IntEnum):
    """The exit status of a command. NOT_PASSED: also where something of many could not be done."""

    PASSED = 0
    NOT_PASSED = 1
    USAGE = 2
    INTERRUPTED = 130  # what a shell reports for Ctrl-C


class UsageError(Exception):
    """A command line that cannot be carried out; the message names the remedy."""


def new_file(text: str) -> Path:
    """Reads the name of a file to write. Raises ArgumentTypeError before a long run where it could not be written."""
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        missing = f"{text} is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise argparse.ArgumentTypeError(f"{missing}; name a file in an existing folder")
    return path
