"""Chapter 01 as it lies on a learner's desk, for tests: as released, as an older build had it, saved in a folder."""

import hashlib

import nbformat
from graded_kernels.course import build
from graded_kernels.course.desk import notebook

SILU = build.ROOT / "course/source/01_silu/01_silu.ipynb"
ANSWER, MINE = "silu_forward-torch", "def silu_forward(x):\n    return x * torch.sigmoid(x)"


def cell_of(notebook, name: str):
    return next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)


def demo(notebook):
    return next(c for c in notebook.cells if c.cell_type == "code" and c.id.startswith("01_silu-"))


def sources_of(notebook) -> list[str]:
    return [cell.source for cell in notebook.cells]


def updated(released: str, change) -> nbformat.NotebookNode:
    """The chapter as released, rebuilt after ``change`` to the instructor's notebook."""
    fresh = nbformat.reads(released, as_version=4)
    change(fresh)
    fresh.metadata["graded_kernels"]["version"] = "0123456789ab"
    return fresh


def first_prose(fresh):
    return next(c for c in fresh.cells if c.cell_type == "markdown" and c.id.startswith("01_silu-"))


def reworded(fresh):
    cell = first_prose(fresh)
    cell.source += "\n\nOne more sentence."
    cell.id = "01_silu-" + hashlib.sha256(cell.source.encode()).hexdigest()[:8]


def saved(folder, cells, version="0123456789ab"):
    cells.metadata["graded_kernels"]["version"] = version
    path = folder / SILU.name
    notebook.write(path, cells)
    return path
