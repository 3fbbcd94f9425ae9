"""Whether a submission is what was graded: by what its files hold, since a time of submission is rarely there."""

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat

from .folder import TIME
from .rebuild import RECORD

SUBMITTED = "submitted"  # under our key in the metadata of a graded notebook: the digest of what it was made from
STANDARD = "standard"  # what decided its verdicts besides the answers (`standard.standard`)
BEGUN = "begun"  # of a notebook that was rebuilt and is not graded yet


@dataclass(frozen=True)
class Origin:
    """What a graded notebook was made from: the digest of the submission, "" where none was kept, and the standard."""

    submitted: str
    standard: Mapping[str, str]


def digest(folder: Path, megabytes: float) -> str:
    """Of the folder's notebooks and its time of submission, with their names.

    A file that is too large to be read, and what is no file, counts by its size and the time of its last change.
    """
    found = hashlib.sha256()
    for path in sorted([*folder.glob("*.ipynb"), folder / TIME]):
        try:
            facts = path.lstat()
            small = stat.S_ISREG(facts.st_mode) and facts.st_size <= megabytes * 1_000_000
            content = path.read_bytes() if small else f"{facts.st_mode} {facts.st_size} {facts.st_mtime_ns}".encode()
        except OSError as error:
            content = type(error).__name__.encode()
        for part in (os.fsencode(path.name), content):
            found.update(len(part).to_bytes(8) + part)
    return found.hexdigest()


def graded_from(path: Path) -> Origin | None:
    """What the graded notebook at ``path`` was made from; None if grading did not finish."""
    try:
        record = json.loads(path.read_bytes())["metadata"][RECORD]
        if record.get(BEGUN):
            return None
        return Origin(str(record.get(SUBMITTED, "")), dict(record.get(STANDARD, {})))
    except ValueError:
        return None  # half written
    except (LookupError, TypeError, AttributeError):
        return Origin("", {})


def mark(notebook: nbformat.NotebookNode, origin: Origin) -> None:
    """As made from ``origin``, and not graded yet."""
    notebook.metadata.setdefault(RECORD, {}).update(
        {BEGUN: True, SUBMITTED: origin.submitted, STANDARD: dict(origin.standard)}
    )
