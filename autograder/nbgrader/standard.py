"""What decides the verdicts on a notebook and their points besides its answers. A graded notebook keeps it, so that a
later run can tell whether it would come to the same scores, and name what changed.
"""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nbformat import NotebookNode

from ..run.answer import Answer
from ..verdicts.job import Job, versions
from .points import weights_of
from .rebuild import exercise_of, grade_id

if TYPE_CHECKING:
    from .grade import Grade

# How a sentence names each field of a job. The answer is the learner's own; its cell names the backend.
NAMES = {
    "seed": "the seed of the class",
    "limits": "the limits",
    "cases": "your cases for {exercise}",
    "isolated": "whether answers must be isolated",
}
FIELDS = [field.name for field in dataclasses.fields(Job) if field.name not in ("answer", "backend")]
_VERSIONED = {"grader": "the grader", "python": "Python", "torch": "PyTorch", "triton": "Triton", "numpy": "NumPy"}
POINTS = "the points of "
AIMS = "the weights of the aims"
_DIGITS = 16
MADE_FOR = "GRADED_KERNELS_MADE_FOR"  # in the environment of a run that follows on verdicts made for it


def standard(grader: "Grade", root: Path, assignment: str, released: NotebookNode) -> dict[str, str]:
    """A digest of everything that decides the scores of the checks of a released notebook, by its name in a sentence.

    Raises as `Grade.job` does.
    """
    found = {AIMS: _digest(weights_of(grader.aims))}
    found |= {f"the version of {_VERSIONED.get(name, name)}": _digest(one) for name, one in versions().items()}
    for cell in released.cells:
        exercise, backend = exercise_of(grade_id(cell).removesuffix("-check"))
        if not exercise or not grade_id(cell).endswith("-check"):
            continue
        found[POINTS + grade_id(cell)] = _digest(cell.metadata.nbgrader.get("points"))
        job = grader.job(root, assignment, Answer(exercise, ()), backend)
        for field in FIELDS:
            found[NAMES[field].format(exercise=exercise)] = _digest(getattr(job, field))
    return found


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What differs, by name; a notebook that was graded before standards or their points were kept had the grader of
    another day.
    """
    if not before:
        return ["the version of the grader"]
    old = {name: now[name] for name in now if name.startswith((POINTS, AIMS))} | dict(before)
    return sorted(name for name in {*old, *now} if old.get(name) != now.get(name))


def unusable(made_for: str, standard: Callable[[str], Mapping[str, str]]) -> Iterator[str]:
    """Why verdicts that were just made are not those that a run needs, a sentence for each notebook.

    made_for: the standard of each, as JSON; standard: what it is now.
    """
    for notebook, before in json.loads(made_for or "{}").items():
        if changed := changes(before, standard(notebook)):
            yield (
                f"The verdicts made for {notebook} cannot be used, because {' and '.join(changed)} changed meanwhile. "
                "What is missing is checked here, one answer after the other; stop this run and repeat the command to "
                "have it checked on all cores."
            )


def _digest(value) -> str:
    plain = dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value
    return hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()[:_DIGITS]
