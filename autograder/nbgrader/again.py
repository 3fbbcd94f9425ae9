"""Whether a submission that was graded has to be graded again, and removing what it was graded as."""

import fnmatch
import logging
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from .contents import graded_from
from .standard import changes
from .summary import Summary


def remove_outdated(
    graded: Path,
    chosen: str,
    submitted: str,
    standard: Callable[[str], Mapping[str, str] | None],
    summary: Summary,
    log: logging.Logger,
) -> None:
    """Removes the graded notebooks in the folder ``graded`` that a run would make differently.

    chosen: a pattern of the notebooks that the run is about; submitted: the digest of what is handed in now; standard:
    what decides the verdicts on a notebook now, besides its answers; None where no such notebook was released.
    """
    found = {path: graded_from(path) for path in graded.glob("*.ipynb")}
    mine = {path: of for path, of in found.items() if of and fnmatch.fnmatch(path.stem, chosen)}
    if None in found.values() or (not found and graded.is_dir()):  # killed in a notebook, or before the first one
        log.warning("%s is from a run that did not end. It is graded again.", graded)
        shutil.rmtree(graded)
        return
    now = {path: standard(path.stem) for path in mine}
    changed = {change for path, of in mine.items() for change in changes(of.standard, now[path] or of.standard)}
    if any(of.submitted != submitted for of in mine.values()):
        log.info("%s: something else was handed in since. It is graded again.", graded)
    elif changed:
        summary.regraded += 1
        summary.changes |= changed
    else:
        return
    for path in mine:
        path.unlink()
    if len(mine) == len(found):
        shutil.rmtree(graded)
