"""What the commands share: exit statuses, the error that ends one, and readers of options."""

import argparse
import keyword
from pathlib import Path
from typing import TypeAlias

from . import quality

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
PASSED, NOT_PASSED, USAGE = 0, 1, 2


class UsageError(Exception):
    """A command line that cannot be carried out; the message names the remedy."""


def function_name(text: str) -> str:
    """``text`` as it is. Raises UsageError where no Python function can be called so."""
    if not text.isidentifier() or keyword.iskeyword(text):
        raise UsageError(f"{text!r} is not a name for a Python function; use letters, digits and _, as in my_op")
    return text


def quality_names(text: str) -> list[str]:
    """Reads ``correct,portable`` as a list of qualities. Raises ArgumentTypeError for a name that is not one."""
    try:
        return list(quality.qualities(text.split(",")))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def new_file(text: str) -> Path:
    """Reads the name of a file to write. Raises ArgumentTypeError before a long run where it could not be written."""
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        missing = f"{text} is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise argparse.ArgumentTypeError(f"{missing}; name a file in an existing folder")
    return path
