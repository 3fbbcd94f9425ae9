"""Notebooks that were handed in and would not be read: under another name, or in another folder than nbgrader's."""

import contextlib
import difflib
import fnmatch
import glob
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.coursedir import CourseDirectory

from .other_files import plain
from .rebuild import is_answer

UNTYPABLE = "its name holds what no line can show; rename it in a file manager"
PATTERN = frozenset("[]*?")  # with which nbgrader looks for files
DEEP = 4  # folders below submitted/ that are looked into
_COPY = re.compile(r"([ _-]*(\(\d+\)|copy[ _-]?\d*|final|v\d+))+$", re.IGNORECASE)


def answers(released: NotebookNode, rebuilt: NotebookNode) -> dict[int, str]:
    """What a submission answers, by number of the answer, without what is as it was released."""
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
    if found := sorted(PATTERN & set(student)):
        return f"nbgrader takes {' and '.join(found)} in a name for a pattern; rename it"
    return ""


def moved(path: Path, to: Path) -> str:
    """The shell command that puts a notebook where it is read, which overwrites nothing."""
    if os.path.lexists(to):
        return f"{_typed(to)} is there, too, and was taken"
    if not str(path).isprintable():
        return UNTYPABLE
    made = "" if to.parent.is_dir() else f"mkdir -p {shlex.quote(str(to.parent))} && "
    return f"{made}mv -n {shlex.quote(str(path))} {shlex.quote(str(to))}"


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
        folders[:] = sorted(name for name in folders if name[0] != "." and name != "__MACOSX" and deep < DEEP)
        yield from (Path(where, name) for name in sorted(names) if name.endswith(".ipynb") and name[0] != ".")


def _belongs(folders: tuple[str, ...], stem: str, released: Mapping[str, set[str]]) -> tuple[str, str]:
    """The assignment that the folders or the notebook's own name stand for, and the student; "" where unknown."""
    named = [(folder, _closest(folder, released)) for folder in folders]
    by_folder = next(((folder, found) for folder, found in named if found), None)
    by_name = next((a for a, names in released.items() if _closest(stem, names)), "")
    students = [folder for folder in folders if not (by_folder and folder == by_folder[0])]
    if not students:  # directly in submitted/, or in a folder for everybody's
        return "", ""
    return (by_folder[1] if by_folder else by_name), students[0]


def _closest(name: str, known: Iterable[str]) -> str:
    """The known name that was meant: as it is, as the copy of a file is called, or mistyped."""
    plain = {_plain(one): one for one in known}
    found = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.75)
    return plain[found[0]] if found else ""


def _plain(name: str) -> str:
    return re.sub(r"[ _-]+", "_", _COPY.sub("", name).lower()).lstrip("0")
