"""Says whether what was graded has to be graded again: what a graded notebook was made from, and what decided its
verdicts besides its answers. A time of submission is rarely there, so files are compared by what they hold.
"""

import dataclasses
import fnmatch
import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import is_grade

from ...judge import Job
from ...runner import Answer
from .by_hand import Seen, seen
from .points import costs_of
from .rebuild import RECORD, exercise_of, grade_id, is_answer, runs
from .summary import Summary

SUBMITTED = "submitted"  # under our key in the metadata of a graded notebook: the digest of what it was made from
STANDARD = "standard"  # what decided its verdicts besides the answers (`standard.standard`)
BEGUN = "begun"  # of a notebook that was rebuilt and is not graded yet

# How a sentence names each field of a job. The answer is the learner's own; its cell names the backend.
NAMES = {
    "seed": "the seed of the class",
    "limits": "the limits",
    "cases": "your cases for {exercise}",
    "isolated": "whether answers must be isolated",
    "record": "the record of {exercise}",
}
FIELDS = [field.name for field in dataclasses.fields(Job) if field.name not in ("answer", "backend")]
_VERSIONED = {
    "grader": "the grader",
    "records": "your packages with records",
    "python": "Python",
    "torch": "PyTorch",
    "triton": "Triton",
    "numpy": "NumPy",
}
POINTS = "the points of "
COSTS = "what failures cost"
_DIGITS = 16


@dataclass(frozen=True)
class Origin:
    """Holds what a graded notebook was made from: the digest of the submission, "" where none was kept, and the
    standard.
    """

    submitted: str
    standard: Mapping[str, str]


def graded_from(path: Path) -> Origin | None:
    """Returns what the graded notebook at ``path`` was made from; None if grading did not finish."""
    try:
        record = json.loads(path.read_bytes())["metadata"][RECORD]
        if record.get(BEGUN):
            return None
        return Origin(str(record.get(SUBMITTED, "")), dict(record.get(STANDARD, {})))
    except ValueError:
        return None  # half written
    except (LookupError, TypeError, AttributeError):
        return Origin("", {})


def seen_in(folder: Path) -> dict[str, dict[str, Seen]]:
    """Says what a person sees in each notebook of a folder, by its name. What a run left half done nobody has seen."""
    complete = [path for path in folder.glob("*.ipynb") if graded_from(path)]
    return {path.stem: seen(nbformat.read(path, as_version=4)) for path in complete}


def mark(notebook: NotebookNode, origin: Origin) -> None:
    """Marks the notebook as made from ``origin``, and not graded yet."""
    notebook.metadata.setdefault(RECORD, {}).update(
        {BEGUN: True, SUBMITTED: origin.submitted, STANDARD: dict(origin.standard)}
    )


def is_current(graded: Path, submitted: str, standard: Mapping[str, str]) -> bool:
    """Returns whether the notebook at ``graded`` was made from the submission with this digest, by this standard."""
    before = graded_from(graded) if graded.is_file() else None
    return before is not None and before.submitted == submitted and not changes(before.standard, standard)


def remove_outdated(
    graded: Path,
    chosen: str,
    submitted: str,
    standard: Callable[[str], Mapping[str, str] | None],
    summary: Summary,
    log: logging.Logger,
) -> list[str]:
    """Removes the graded notebooks in the folder ``graded`` that a run would make differently. Returns what changed
    that decides their scores, besides what was handed in.

    chosen: a pattern of the notebooks that the run is about; submitted: the digest of what is handed in now; standard:
    what decides the verdicts on a notebook now, besides its answers; None where no such notebook was released.
    """
    origins = {path: graded_from(path) for path in graded.glob("*.ipynb")}
    mine = {path: of for path, of in origins.items() if of and fnmatch.fnmatch(path.stem, chosen)}
    if None in origins.values() or (not origins and graded.is_dir()):  # killed in a notebook, or before the first one
        log.warning("%s is from a run that did not end. It is graded again.", graded)
        shutil.rmtree(graded)
        return []
    now = {path: standard(path.stem) for path in mine}
    changed = {change for path, of in mine.items() for change in changes(of.standard, now[path] or of.standard)}
    if any(of.submitted != submitted for of in mine.values()):
        log.info("%s: something else was handed in since. It is graded again.", graded)
    elif changed:
        summary.regraded += 1
        summary.changes |= changed
    else:
        return []
    for path in mine:
        path.unlink()
    if len(mine) == len(origins):
        shutil.rmtree(graded)
    return sorted(changed)


def standard(
    costs: Mapping[str, float], job_of: Callable[[Answer, str], Job], released: NotebookNode
) -> dict[str, str]:
    """A digest of everything that decides the scores of a released notebook, by its name in a sentence.

    costs: those that the teacher gave; job_of: the job of an answer and its backend, whose errors are raised.
    """
    running = [cell.source for cell in released.cells if runs(cell) and not is_answer(cell)]
    digests = {COSTS: _digest(costs_of(costs)), "the released cells that run": _digest(running)}
    digests |= {
        f"the version of {_VERSIONED.get(name, name)}": _digest(version) for name, version in Job.versions().items()
    }
    for cell in filter(is_grade, released.cells):
        digests[POINTS + grade_id(cell)] = _digest(cell.metadata.nbgrader.get("points"))
        exercise, backend = exercise_of(grade_id(cell).removesuffix("-check"))
        if not exercise or not grade_id(cell).endswith("-check"):
            continue
        job = job_of(Answer(exercise, ()), backend)
        for field in FIELDS:
            digests[NAMES[field].format(exercise=exercise)] = _digest(getattr(job, field))
    return digests


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Returns what differs, by name; a notebook that was graded before standards or their points were kept had the
    grader of another day.
    """
    if not before:
        return ["the version of the grader"]
    old = {name: now[name] for name in now if name.startswith((POINTS, COSTS))} | dict(before)
    return sorted(name for name in {*old, *now} if old.get(name) != now.get(name))


def _digest(value: object) -> str:
    plain = dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value
    return hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()[:_DIGITS]
