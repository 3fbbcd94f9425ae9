"""Says what the commands share: exit statuses, the error that ends one, and readers of options."""

import argparse
import difflib
import re
from enum import IntEnum
from pathlib import Path
from typing import NoReturn, TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class Parser(argparse.ArgumentParser):
    """A parser that names the closest of what it knows where a word is none of them."""

    def error(self, message: str) -> NoReturn:
        """Prints the usage and ``message``, and ends the process with status 2."""
        wrong = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if wrong:
            close = difflib.get_close_matches(wrong[1], re.findall(r"[\w.-]+", wrong[2]), n=1)
            message += f"; did you mean {close[0]}?" if close else ""
        super().error(message)


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
