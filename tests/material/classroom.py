"""A course root for tests: released chapters, submissions, and what nbgrader made of them."""

import functools
import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import grade_demo
import make_submissions
import nbformat
import nbgrader.api
import pytest
from alembic.script import ScriptDirectory
from grade_demo import CHAPTER
from graded_kernels.autograder.classroom.nbgrader import autograde, reader
from graded_kernels.course.build import ROOT, build
from graded_kernels.course.regions import find_regions
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.dbutil import ALEMBIC_DIR
from tampered import TORCH, find
from traitlets.config import PyFileConfigLoader

# Submissions are read by a process that ends with its run. Here one reads for all runs of a test process: it takes
# longer to start than to read a class of three.
autograde.Reader = functools.cache(reader.Reader)

# Of every new gradebook nbgrader asks a process, for a second or more, which version its tables have.
ask_alembic = nbgrader.api.get_alembic_version
nbgrader.api.get_alembic_version = functools.cache(lambda: ScriptDirectory(ALEMBIC_DIR).get_current_head())

IMPORTS = """\
# A small chapter

```{code-cell} python
from graded_kernels.autograder import check

import torch
import triton
import triton.language as tl
```

"""
TINY = (
    IMPORTS
    + """\
Something to play with:

```{code-cell} python
torch.exp(torch.ones(3))
```

{exercise}`solutions/silu_witness`
{exercise}`solutions/silu_forward`

{triton}In your own words:

```{question} tiny_words
:points: 3
Whatever is right.
```
"""
)
# The memory of the last one is limited, and it calls the others.
LIMITED = ("label_logits", "cross_entropy_forward", "cross_entropy_backward", "linear_cross_entropy_forward_backward")
CHAPTERS = {
    "tiny": TINY.replace("{triton}", ""),
    "both": TINY.replace("{triton}", "{exercise}`kernels/silu_forward`\n\n"),
    "memory": IMPORTS + "".join(f"{{exercise}}`solutions/{name}`\n" for name in LIMITED),
}


def make(root: Path) -> Path:
    """A course root with the SiLU chapter and small ones, released, and the gradebook made."""
    grade_demo.make_course(root)
    for name, text in CHAPTERS.items():
        chapter = root / f"{name}.md"
        chapter.write_text(text)
        (root / "source" / name).mkdir()
        (root / "source" / name / f"{name}.ipynb").write_text(build(chapter, find_regions(ROOT)))
    release(root, (CHAPTER, *CHAPTERS))
    return root


def release(root: Path, assignments: Iterable[str]) -> None:
    """nbgrader's own release, in this process."""
    for assignment in assignments:
        assert_success(api(root).generate_assignment(assignment))


def copied(made: Path, folder: Path) -> Path:
    """A course of one's own from one that was made before."""
    return Path(shutil.copytree(made, folder / "course", symlinks=True))


def name_of(value) -> str:
    """A student's name; that of a tamper or an attack is the name of its student."""
    return getattr(value, "name", None) or getattr(value, "__name__", None) or str(value)


def about(rows: Iterable, quick: set[str]) -> list:
    """Rows of a parametrized test, each of which begins with a student: `make test` takes the ``quick`` ones."""
    rows = [row if isinstance(row, tuple) else (row,) for row in rows]
    return [pytest.param(*row, marks=() if name_of(row[0]) in quick else pytest.mark.exhaustive) for row in rows]


def asked_for(request) -> set[str]:
    """The parameters, by name, of the tests that this run has chosen from the module: nobody else has to be graded."""
    mine = [item for item in request.session.items if item.path == request.path and hasattr(item, "callspec")]
    return {name_of(value) for item in mine for value in item.callspec.params.values()}


def api(root: Path) -> NbGraderAPI:
    config = PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()
    return NbGraderAPI(CourseDirectory(config=config), config=config)


def assert_success(result: dict) -> None:
    assert result["success"], result.get("error") or result.get("log")


def scores(root: Path, student: str, assignment: str = "tiny") -> dict[str, float | None]:
    """What nbgrader's autograder gave, by cell."""
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        grades = gradebook.find_submission_notebook(assignment, assignment, student).grades
        return {grade.name.removesuffix("-check"): grade.auto_score for grade in grades}


def give_by_hand(root: Path, student: str, **points: float) -> None:
    """Points for cells, as formgrader gives them."""
    with Gradebook(f"sqlite:///{root}/gradebook.db") as gradebook:
        for cell, score in points.items():
            grade = gradebook.find_grade(cell, "tiny", "tiny", student)
            grade.manual_score, grade.needs_manual_grade = score, False
        gradebook.db.commit()


def autograded(root: Path, student: str, assignment: str = "tiny"):
    return nbformat.read(root / "autograded" / student / assignment / f"{assignment}.ipynb", as_version=4)


def shown(root: Path, student: str, cell: str, assignment: str = "tiny") -> str:
    """All text that the graded notebook shows below a cell."""
    (found,) = (c for c in autograded(root, student, assignment).cells if make_submissions.grade_id(c) == cell)
    return "\n".join(o.get("text") or o.data["text/plain"] for o in found.outputs)


def place(course: Path, student: str, assignment: str = "tiny") -> Path:
    """Where the student's notebook belongs."""
    folder = course / "submitted" / student / assignment
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{assignment}.ipynb"


def right_answers(course: Path, assignment: str = "tiny") -> dict:
    """The assignment's release notebook with our answers."""
    regions = {f"{name}-{region.backend}": region.source for (_, name), region in find_regions(ROOT).items()}
    nb = nbformat.read(course / "release" / assignment / f"{assignment}.ipynb", as_version=4)
    for cell in nb.cells:
        name = make_submissions.grade_id(cell)
        cell.source = regions.get(name, "In my own words." if name == "tiny_words" else cell.source)
    return json.loads(json.dumps(nb))


def of_its_own(notebook: dict, mark: str) -> dict:
    """The notebook with answers in a text that nobody else has: a comment, and other names of kernels, so that no
    compiled one is there already. mark: what can be part of a name in Python.
    """
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    answers = [cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("solution")]
    kernels = set(re.findall(r"^@triton\.jit\ndef (\w+)", "\n".join(cell["source"] for cell in answers), re.M))
    own = re.compile(rf"(?<!\.)\b({'|'.join(kernels) or '(?!)'})\b")  # not PyTorch's expm1 in `log_p.expm1()`
    for cell in answers:
        cell["source"] = own.sub(rf"\1_{mark}", cell["source"]) + f"\n# {mark}"
    return notebook


def grade(course: Path, student: str, notebook: dict, assignment: str = "tiny") -> None:
    """Hands in, again if need be, and grades."""
    place(course, student, assignment).write_text(json.dumps(notebook))
    assert_success(api(course).autograde(assignment, student))


def with_settings(course, **settings):
    """nbgrader's API with a teacher's own lines in the configuration; the clock is no limit unless they say so."""
    made = api(course)
    for name, value in {"wall_factor": 1000.0, **settings}.items():
        made.config.Grade[name] = value
    return made


def hand_in(course, student: str, line: str = "") -> None:
    """A right notebook, with ``line`` at the beginning of silu_forward."""
    notebook = right_answers(course)
    cell = find(notebook, TORCH)
    cell["source"] = cell["source"].replace("    v = ", f"    {line}\n    v = ", 1)
    assert line in cell["source"]
    place(course, student).write_text(json.dumps(notebook))


def hidden_case(course: Path, exercise: str, name: str, values: list[float], hint: str = "?") -> Path:
    """Writes a teacher's file with one case of an exercise whose input is x."""
    path = course / "hidden_cases" / f"{exercise}.py"
    path.parent.mkdir(exist_ok=True)
    inputs = f"lambda generator: (torch.tensor({values}),)"
    path.write_text(
        f"import torch\nfrom graded_kernels.autograder import Case\n\nCASE = Case({name!r}, {inputs}, {hint!r})\n"
    )
    return path
