"""Says what lies below ``submitted/`` besides the notebooks that are read: the other files of a submission, all of
which nbgrader copies, and one from which it reads the time of submission; and notebooks under another name, or in
another folder than nbgrader's. `digest` tells one submission from another.
"""

import contextlib
import difflib
import fnmatch
import glob
import hashlib
import os
import re
import shlex
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc

from .notebook_file import plain
from .rebuild import is_answer

TIME = "timestamp.txt"
DEEP = 10  # folders within folders; Python's own walk, and a path's length, end at a thousand
MANY = 20  # files to be left out; where there are more, no other file is copied
_SHOWN = 5  # of the files that are left out; a hundred lines would bury what else there is to say
UNTYPABLE = "its name holds what no line can show; rename it in a file manager"
PATTERN = frozenset("[]*?")  # with which nbgrader looks for files
LOOKED_INTO = 4  # folders below submitted/ that are looked into
_COPY = re.compile(r"([ _-]*(\(\d+\)|copy[ _-]?\d*|final|v\d+))+$", re.IGNORECASE)


class BadTime(Exception):
    """A time of submission that cannot be read; the message completes "timestamp.txt ..."."""


def left_out(folder: Path, megabytes: float) -> dict[str, str]:
    """The names of the files that must not be copied, and why: each completes "... lies beside the notebook and ...".

    A copy would follow a link to what the learner cannot read, wait for a pipe for ever, or copy a device without end.
    """
    reasons = {}
    for where, folders, names in _walk(folder):
        if _depth(where, folder) == DEEP and folders:
            reasons[os.path.relpath(where, folder).split(os.sep)[0]] = f"holds folders that are more than {DEEP} deep"
        for name in names:
            reason = _why_unreadable(os.path.join(where, name), megabytes)
            if reason and not name.endswith(".ipynb"):
                reasons[name] = reason
    try:
        submission_time(folder)
    except BadTime as error:
        reasons[TIME] = str(error)
    return reasons


def files(folder: Path, left_out: Collection[str], patterns: Iterable[str]) -> list[str]:
    """The paths of what is to be copied: less the notebooks, what is ``left_out`` (`left_out`) and what the names of
    ``patterns`` match. nbgrader's own list fails a thousand folders down.
    """
    paths: list[str] = []
    if len(left_out) > MANY:
        return paths
    ignored = ["*.ipynb", *patterns, *map(glob.escape, left_out)]
    for where, folders, names in _walk(folder):
        folders[:] = [name for name in folders if not _is_one(name, ignored)]
        paths += [os.path.join(where, name) for name in names if not _is_one(name, ignored)]
    return paths


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


def submission_time(folder: str | Path) -> datetime | None:
    """When the submission was handed in; None if it is not recorded. Raises BadTime."""
    path = os.path.join(folder, TIME)
    if not os.path.lexists(path):
        return None
    if reason := _why_unreadable(path, megabytes=0.001):
        raise BadTime(reason)
    try:
        text = Path(path).read_text().strip()
        return parse_utc(text) if text else None
    except (ValueError, OverflowError):
        raise BadTime("holds no time that can be read") from None


def _why_unreadable(path: str, megabytes: float) -> str:
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


def answers(released: NotebookNode, rebuilt: NotebookNode) -> dict[int, str]:
    """Returns what a submission answers, by number of the answer, without what is as it was released."""
    theirs = [cell.source.strip() for cell in rebuilt.cells if is_answer(cell)]
    ours = [cell.source.strip() for cell in released.cells if is_answer(cell)]
    return {number: their for number, (their, our) in enumerate(zip(theirs, ours, strict=True)) if their != our}


def why_unread(folder: Path, name: str, others: Mapping[str, dict[int, str] | None], own: dict[int, str] | None) -> str:
    """Why the notebook ``name`` of a submission was not what the learner meant to hand in; "" where it was.

    others: what the other notebooks there answer, and own: what it answers itself, as `answers` has it; own is None
    where it is missing or cannot be read.
    """
    there = os.path.lexists(folder / f"{name}.ipynb")
    meant = [other for other, theirs in others.items() if theirs] if there else list(others)
    if own or not meant:
        return ""
    names = " and ".join(f"`{plain(other)}.ipynb`" for other in meant)
    if not there:
        return f"The notebook was handed in as {names}, not as `{name}.ipynb`. It was not read."
    state = "cannot be read" if own is None else "is as it was released"
    return f"`{name}.ipynb` {state}, and {names} beside it was not read."


def not_read(courses: CourseDirectory) -> list[str]:
    """A line for whatever lies below ``submitted/`` and is not read, with paths from the course root."""
    released = courses.format_path(courses.release_directory, ".", ".")
    names = {path.name: {n.stem for n in path.glob("*.ipynb")} for path in Path(released).glob("*")}
    with contextlib.chdir(courses.root):
        submitted = Path(os.path.relpath(courses.format_path(courses.submitted_directory, ".", "."), courses.root))
        return list(elsewhere(submitted, names, courses.assignment_id, courses.student_id))


def elsewhere(submitted: Path, released: Mapping[str, set[str]], assignment: str, students: str) -> Iterator[str]:
    """A line for each notebook below ``submitted`` that lies at no STUDENT/ASSIGNMENT/, with the command that moves it,
    as far as it belongs to ``assignment`` or to none that is known. Then one for each STUDENT/ASSIGNMENT/ that holds no
    notebook, and for each student's folder whose name nbgrader cannot work with.

    released: the names of the notebooks of each assignment. students: a pattern; only theirs.
    """
    for path in _notebooks(submitted):
        folders = path.relative_to(submitted).parts[:-1]
        if (folders and unfit(folders[0])) or (len(folders) == 2 and folders[1] in released):
            continue
        theirs, student = _belongs(folders, path.stem, released)
        if (theirs and theirs != assignment) or not fnmatch.fnmatch(student, students):
            continue
        if not theirs:
            yield f"{_typed(path)}: it is not clear which assignment this is"
            continue
        names = released[theirs]
        name = _closest(path.stem, names) or (next(iter(names)) if len(names) == 1 else path.stem)
        yield f"{_typed(path)}: {moved(path, submitted / student / theirs / f'{name}.ipynb')}"
    for folder in sorted(submitted.glob(f"{students}/{glob.escape(assignment)}/")):
        if not any(_notebooks(submitted, folder)):
            files = sorted(path.name for path in folder.iterdir())
            yield f"{_typed(folder)}: " + (
                f"holds no notebook, only {_typed(', '.join(files))}" if files else "is empty"
            )
    for folder in sorted(submitted.glob("*/")):
        if (reason := unfit(folder.name)) and fnmatch.fnmatch(folder.name, students):
            yield f"{_typed(folder)}: {reason}"


def unfit(student: str) -> str:
    """Why nbgrader can grade nothing in a folder of this name, with which it would end the run for everybody or pass it
    over without a word; "" where it can.
    """
    if not student.isprintable():  # a line break, say, or bytes that are not UTF-8
        return UNTYPABLE
    if signs := sorted(PATTERN & set(student)):
        return f"nbgrader takes {' and '.join(signs)} in a name for a pattern; rename it"
    return ""


def moved(path: Path, to: Path) -> str:
    """The shell command that puts a notebook where it is read, which overwrites nothing."""
    if os.path.lexists(to):
        return f"{_typed(to)} is there, too, and was taken"
    if not str(path).isprintable():
        return UNTYPABLE
    folder = "" if to.parent.is_dir() else f"mkdir -p {shlex.quote(str(to.parent))} && "
    return f"{folder}mv -n {shlex.quote(str(path))} {shlex.quote(str(to))}"


def renamed(path: Path, to: Path) -> str:
    """The shell command that has ``path`` read in place of ``to``, which is kept under another name."""
    if not str(path).isprintable():
        return UNTYPABLE
    kept = f"mv -n {shlex.quote(str(to))} {shlex.quote(f'{to}.unused')} && " if os.path.lexists(to) else ""
    return f"{kept}mv -n {shlex.quote(str(path))} {shlex.quote(str(to))}"


def _typed(path: Path | str) -> str:
    return "".join(character if character.isprintable() else "?" for character in str(path))


def _notebooks(submitted: Path, below: Path | None = None) -> Iterator[Path]:
    """Sorted; links are not followed, and what Jupyter and macOS keep for themselves is left out."""
    for where, folders, names in os.walk(below or submitted):
        deep = len(Path(where).relative_to(submitted).parts)
        folders[:] = sorted(name for name in folders if name[0] != "." and name != "__MACOSX" and deep < LOOKED_INTO)
        yield from (Path(where, name) for name in sorted(names) if name.endswith(".ipynb") and name[0] != ".")


def _belongs(folders: tuple[str, ...], stem: str, released: Mapping[str, set[str]]) -> tuple[str, str]:
    """The assignment that the folders or the notebook's own name stand for, and the student; "" where unknown."""
    named = [(folder, _closest(folder, released)) for folder in folders]
    by_folder = next(((folder, assignment) for folder, assignment in named if assignment), None)
    by_name = next((a for a, names in released.items() if _closest(stem, names)), "")
    students = [folder for folder in folders if not (by_folder and folder == by_folder[0])]
    if not students:  # directly in submitted/, or in a folder for everybody's
        return "", ""
    return (by_folder[1] if by_folder else by_name), students[0]


def _closest(name: str, known: Iterable[str]) -> str:
    """The known name that was meant: as it is, as the copy of a file is called, or mistyped."""
    meant = {_without_layout(original): original for original in known}
    close = difflib.get_close_matches(_without_layout(name), meant, n=1, cutoff=0.75)
    return meant[close[0]] if close else ""


def _without_layout(name: str) -> str:
    return re.sub(r"[ _-]+", "_", _COPY.sub("", name).lower()).lstrip("0")


def digest(folder: Path, megabytes: float) -> str:
    """Digests the folder's notebooks and its time of submission, with their names.

    A file that is too large to be read, and what is not a file, counts by its size and the time of its last change.
    """
    sha256 = hashlib.sha256()
    for path in sorted([*folder.glob("*.ipynb"), folder / TIME]):
        try:
            facts = path.lstat()
            small = stat.S_ISREG(facts.st_mode) and facts.st_size <= megabytes * 1_000_000
            content = path.read_bytes() if small else f"{facts.st_mode} {facts.st_size} {facts.st_mtime_ns}".encode()
        except OSError as error:
            content = type(error).__name__.encode()
        for part in (os.fsencode(path.name), content):
            sha256.update(len(part).to_bytes(8) + part)
    return sha256.hexdigest()
