"""A chapter that was updated, merged into a learner's notebook cell by cell.

No older version of the chapter is needed to tell what a learner changed. The id of a cell of prose or of code to run is
made of its content (`course.build`), and a cell that nbgrader knows carries the checksum of what was released. Where
an id or a checksum no longer fits, the learner has edited the cell. A comparison of whole notebooks (nbdime), which
guesses from similarity which cells correspond, would have nothing to add.
"""

import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import compute_checksum

from . import start
from .notebook import grade_id

OURS = re.compile(r"(?P<chapter>\w+)-(?P<digest>[0-9a-f]{8})(-\d+)?")


@dataclass
class Merged:
    """The notebook, how many of our cells are new in it or went, and a sentence for each conflict."""

    notebook: NotebookNode
    renewed: int = 0
    removed: int = 0
    conflicts: list[str] = field(default_factory=list)


def merge(mine: NotebookNode, fresh: NotebookNode) -> Merged:
    """``mine``, a learner's copy, brought up to ``fresh``, the chapter as it is released now.

    A learner's answers, edited cells, added cells and outputs stay. Cells of ours that nobody edited are renewed,
    added and removed as the chapter has it. What both sides changed is a conflict: both versions are in the notebook,
    with a cell that says so.
    """
    chapter = fresh.metadata["graded_kernels"]["chapter"]
    released = {_key(cell): cell for cell in fresh.cells}
    pairs: dict[str, NotebookNode] = {}
    extra: dict[str, list[NotebookNode]] = defaultdict(list)
    merged = Merged(mine.copy())
    after = ""  # the cell of the chapter that a cell of the learner's follows
    for cell in mine.cells:
        key = _identify(cell, chapter, released, pairs)
        if key in released and key not in pairs:
            pairs[key] = cell
            after = key
        elif key in released or not _is_ours(cell, chapter):  # a copy that the learner made, or a cell they added
            extra[after].append(cell)
        elif _untouched(cell):
            merged.removed += 1
        else:
            extra[after] += _orphan(cell, merged)
    cells = list(extra[""])
    for key, cell in released.items():
        cells += _both(pairs[key], cell, merged) if key in pairs else [cell]
        merged.renewed += key not in pairs
        cells += extra[key]
    merged.notebook.cells = _with_own_ids(cells)
    ours = mine.metadata.get("graded_kernels", {}) | fresh.metadata["graded_kernels"]
    merged.notebook.metadata = mine.metadata | {"graded_kernels": ours}
    return merged


def unchanged(mine: NotebookNode, chapter: str) -> bool:
    """Returns whether every cell of a learner's copy is as it was released: nothing written, edited or added. Outputs
    do not count, and a cell of ours that was deleted cannot be told from one that the chapter got later.
    """
    ours = mine.metadata.get("graded_kernels", {}).get("chapter") == chapter
    return bool(ours) and all(_is_ours(cell, chapter) and _untouched(cell) for cell in mine.cells)


def _key(cell: NotebookNode) -> str:
    return grade_id(cell) or cell.id


def _identify(cell: NotebookNode, chapter: str, released: dict[str, Any], taken: dict[str, Any]) -> str:
    """Returns which cell of the chapter this is. Editors that drop ids (Colab) leave the content to go by."""
    key = _key(cell)
    if key in released or grade_id(cell):
        return key
    identity = f"{chapter}-{_digest(cell)}"
    again = (identity if number == 1 else f"{identity}-{number}" for number in range(1, len(released) + 1))
    return next((name for name in again if name in released and name not in taken), key)


def _digest(cell: NotebookNode) -> str:
    return hashlib.sha256(cell.source.encode()).hexdigest()[:8]


def _is_ours(cell: NotebookNode, chapter: str) -> bool:
    match = OURS.fullmatch(cell.id)
    return bool(grade_id(cell)) or bool(match and match["chapter"] == chapter)


def _untouched(cell: NotebookNode) -> bool:
    """Returns whether a cell of ours holds what was released."""
    if cell.source.startswith(start.HEADING):  # the start page's table, which `make lab` writes
        return True
    if grade_id(cell):
        return bool(cell.metadata["nbgrader"].get("checksum") == compute_checksum(cell))
    match = OURS.fullmatch(cell.id)
    return bool(match and match["digest"] == _digest(cell))


def _both(mine: NotebookNode, fresh: NotebookNode, merged: Merged) -> list[NotebookNode]:
    """The text for a cell that both have."""
    if not grade_id(fresh):  # the id says that the chapter's version is the same
        return [mine]
    if mine.source == fresh.source:
        return [_renewed(mine, fresh)]
    if _untouched(mine):
        merged.renewed += 1
        return [fresh]
    name, settings = grade_id(fresh), fresh.metadata["nbgrader"]
    if not settings["solution"]:
        merged.conflicts.append(f"{name}: the chapter's cell is locked and was renewed; your version is below it")
        return [fresh, _shown("This cell is locked and was renewed. Your version of it:", mine.source)]
    changed = mine.metadata["nbgrader"].get("checksum") != settings.get("checksum")
    if not changed:
        return [_renewed(mine, fresh)]
    merged.conflicts.append(f"{name}: your answer stays; what the chapter gives to start from has changed: it is below")
    return [
        _renewed(mine, fresh),
        _shown("Your answer above was kept. What the chapter gives to start from is now:", fresh.source),
    ]


def _renewed(mine: NotebookNode, fresh: NotebookNode) -> NotebookNode:
    """The learner's source and outputs with the metadata of the chapter."""
    renewed: NotebookNode = nbformat.from_dict(mine | {"id": fresh.id, "metadata": mine.metadata | fresh.metadata})
    return renewed


def _orphan(cell: NotebookNode, merged: Merged) -> list[NotebookNode]:
    """A cell that the learner edited and the chapter no longer has. nbgrader must not take it for one of its own."""
    merged.conflicts.append(f"{_key(cell)}: you changed this cell, and the chapter has it no longer: yours stays")
    kept = nbformat.from_dict(cell | {"metadata": {k: v for k, v in cell.metadata.items() if k != "nbgrader"}})
    for locked in ("deletable", "editable"):
        kept.metadata.pop(locked, None)
    return [
        nbformat.v4.new_markdown_cell("> **Update.** The chapter no longer has the next cell; yours was kept."),
        kept,
    ]


def _shown(said: str, source: str) -> NotebookNode:
    shown: NotebookNode = nbformat.v4.new_markdown_cell(f"> **Update.** {said}\n\n````python\n{source}\n````")
    return shown


def _with_own_ids(cells: list[NotebookNode]) -> list[NotebookNode]:
    """Returns the cells with ids that differ; a learner's copy of a cell gets another one."""
    seen: set[str] = set()
    for cell in cells:
        while cell.id in seen:
            cell.id = nbformat.v4.new_markdown_cell().id
        seen.add(cell.id)
    return cells
