"""Whether a submission that was graded has to be graded again, and removing what it was graded as."""

import fnmatch
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .contents import Origin, graded_from
from .standard import changes

if TYPE_CHECKING:
    from .submission import Submissions


def remove_outdated(run: "Submissions", chosen: str, graded: Path, assignment: str, submitted: str) -> None:
    """Removes the graded notebooks in the folder ``graded`` that ``run`` would make differently.

    chosen: a pattern of the notebooks that the run is about; submitted: the digest of what is handed in now.
    """
    found = {path: graded_from(path) for path in graded.glob("*.ipynb")}
    mine = {path: of for path, of in found.items() if of and fnmatch.fnmatch(path.stem, chosen)}
    if None in found.values():
        run.log.warning("%s is from a run that did not end. It is graded again.", graded)
        shutil.rmtree(graded)
        return
    if any(of.submitted != submitted for of in mine.values()):
        run.log.info("%s: something else was handed in since. It is graded again.", graded)
    elif changed := _changes(run, assignment, mine):
        run.summary.regraded += 1
        run.summary.changes |= changed
    else:
        return
    for path in mine:
        path.unlink()
    if len(mine) == len(found):
        shutil.rmtree(graded)


def _changes(run: "Submissions", assignment: str, graded: Mapping[Path, Origin]) -> set[str]:
    released = {path.stem: of.standard for path, of in graded.items() if path.stem in run.names(assignment)}
    return {change for name, before in released.items() for change in changes(before, run.standard(assignment, name))}
