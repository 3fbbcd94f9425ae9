"""Brings a learner's notebooks up to the chapters, with a backup of each."""

import sys
from pathlib import Path

import nbformat

from ..learner import release, version
from .command import RELOAD
from .merge import merge
from .notebook import DeskError, keep, read
from .notebook import write as write_notebook


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
        merged = merge(mine, nbformat.reads(release(known[name]), as_version=4))
        counts = f"{merged.renewed} cells new, {merged.removed} gone, {len(merged.conflicts)} in conflict"
        if write:
            backup = keep(folder, name, ".ipynb", copy.read_bytes())
            write_notebook(copy, merged.notebook)
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
