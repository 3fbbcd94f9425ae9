"""Brings a learner's notebooks up to the chapters, with a backup of each."""

import sys
from pathlib import Path

import nbformat

from ..learner import release, version
from .merge import Merged, merge, unchanged
from .notebook import RELOAD, DeskError, keep, read
from .notebook import write as write_notebook


def renew(sources: list[Path], folder: Path) -> list[str]:
    """Merges each chapter that has changed into a copy in which the learner changed nothing, and says so, a line each.

    Every other copy is left alone: merging it is for the learner to ask for (`update`). Outputs stay where their cell
    does, and the copy as it was goes to ``folder/kept``.
    """
    lines = []
    for source in sources:
        copy = folder / source.name
        if version(copy) in (None, version(source)):
            continue
        try:
            mine = read(copy)
        except DeskError:
            continue  # `learner.give` names it
        if unchanged(mine, source.stem):
            backup = _replace(copy, _merged(mine, source))
            lines.append(f"renewed  {copy} (you had changed nothing in it; as it was: {backup})")
    return lines


def _merged(mine: nbformat.NotebookNode, source: Path) -> Merged:
    return merge(mine, nbformat.reads(release(source), as_version=4))


def _replace(copy: Path, merged: Merged) -> Path:
    """Writes the merged notebook; returns the file that keeps the copy as it was."""
    backup = keep(copy.parent, copy.stem, ".ipynb", copy.read_bytes())
    write_notebook(copy, merged.notebook)
    return backup


def update(sources: list[Path], folder: Path, chapters: list[str], *, write: bool = True) -> int:
    """Merges each chapter that has changed into the learner's copy of it, and prints what was done.

    chapters: which, by name; none are all. The copy as it was goes to ``folder/kept``. Returns 0, or 1 where there is
    a conflict or a copy that could not be read. Raises DeskError for the name of no chapter.
    """
    known = {source.stem: source for source in sources}
    unknown = [name for name in chapters if name not in known]
    if unknown:
        raise DeskError(f"there is no chapter {unknown[0]!r}; there are {', '.join(known)}")
    status = written = 0
    for name in chapters or known:
        copy = folder / known[name].name
        if not copy.exists():
            print(f"missing  {copy}: `make lab` gives it to you")
            continue
        try:
            mine = read(copy)
        except DeskError as error:
            print(f"kept     {error}")
            status = 1
            continue
        if version(copy) == version(known[name]):
            print(f"current  {copy}")
            continue
        merged = _merged(mine, known[name])
        counts = f"{merged.renewed} cells new, {merged.removed} gone, {len(merged.conflicts)} in conflict"
        if write:
            backup = _replace(copy, merged)
            written += 1
            print(f"merged   {copy}: {counts}\n         as it was: {backup}")
        else:
            print(f"would merge {copy}: {counts}")
        for conflict in merged.conflicts:
            print(f"conflict {conflict}")
        status = status or int(bool(merged.conflicts))
    if written:
        print(RELOAD, file=sys.stderr)
    return status
