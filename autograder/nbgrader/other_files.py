"""The other files of a submission: nbgrader copies all of them, and reads the time of submission from one."""

import fnmatch
import glob
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from pathlib import Path

from nbgrader.utils import parse_utc

TIME = "timestamp.txt"
DEEP = 10  # folders within folders; Python's own walk, and a path's length, end at a thousand
MANY = 20  # files to be left out; where there are more, no other file is copied
_SHOWN = 5  # of the files that are left out; a hundred lines would bury what else there is to say


class BadTime(Exception):
    """A time of submission that cannot be read; the message completes "timestamp.txt ..."."""


def left_out(folder: Path, megabytes: float) -> dict[str, str]:
    """The names of the files that must not be copied, and why: each completes "... lies beside the notebook and ...".

    A copy would follow a link to what the learner cannot read, wait for a pipe for ever, or copy a device without end.
    """
    found = {}
    for where, folders, names in _walk(folder):
        if _depth(where, folder) == DEEP and folders:
            found[os.path.relpath(where, folder).split(os.sep)[0]] = f"holds folders that are more than {DEEP} deep"
        for name in names:
            reason = _unfit(os.path.join(where, name), megabytes)
            if reason and not name.endswith(".ipynb"):
                found[name] = reason
    try:
        submission_time(folder)
    except BadTime as error:
        found[TIME] = str(error)
    return found


def files(folder: Path, left_out: Collection[str], patterns: Iterable[str]) -> list[str]:
    """The paths of what is to be copied: less the notebooks, what is ``left_out`` (`left_out`) and what the names of
    ``patterns`` match. nbgrader's own list fails a thousand folders down.
    """
    found: list[str] = []
    if len(left_out) > MANY:
        return found
    ignored = ["*.ipynb", *patterns, *map(glob.escape, left_out)]
    for where, folders, names in _walk(folder):
        folders[:] = [name for name in folders if not _is_one(name, ignored)]
        found += [os.path.join(where, name) for name in names if not _is_one(name, ignored)]
    return found


def _walk(folder: str | Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """`os.walk`, down to `DEEP` levels."""
    for where, folders, names in os.walk(folder):
        yield where, folders, names
        if _depth(where, folder) == DEEP:
            folders.clear()


def _depth(path: str, folder: str | Path) -> int:
    return path.count(os.sep) - os.fspath(folder).count(os.sep)


def _is_one(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def notes(files: dict[str, str]) -> list[str]:
    """A sentence for each of the files of `left_out`, to be shown as Markdown."""
    notes = []
    for name, reason in sorted(files.items()):
        if name == TIME:
            notes.append(f"The file `{TIME}` {reason}, so it is not known when this was handed in.")
        else:
            notes.append(f"The file `{plain(name)}` lies beside the notebook and {reason}. It was left out.")
    more = [f"{len(notes) - _SHOWN} more files were left out."] if len(notes) > _SHOWN else []
    return notes[:_SHOWN] + more


def plain(name: str) -> str:
    """A file's name as it can be shown: it may hold Markdown, HTML, line breaks, and what no text can hold."""
    return re.sub(r"[^\w. ()-]", "?", name)[:60]


def submission_time(folder: str | Path) -> datetime | None:
    """When the submission was handed in; None if it is not recorded. Raises BadTime."""
    path = os.path.join(folder, TIME)
    if not os.path.lexists(path):
        return None
    if reason := _unfit(path, megabytes=0.001):
        raise BadTime(reason)
    try:
        text = Path(path).read_text().strip()
        return parse_utc(text) if text else None
    except (ValueError, OverflowError):
        raise BadTime("holds no time that can be read") from None


def _unfit(path: str, megabytes: float) -> str:
    """Why the file should not be read; "" where there is no reason."""
    try:
        facts = os.lstat(path)
    except OSError:
        return "cannot be read"
    if stat.S_ISLNK(facts.st_mode):
        return "is a symbolic link"
    if not stat.S_ISREG(facts.st_mode):
        return "is not a file"
    if not os.access(path, os.R_OK):
        return "cannot be read"
    return f"is larger than {megabytes:g} MB" if facts.st_size > megabytes * 1_000_000 else ""
