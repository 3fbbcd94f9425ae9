"""What a chapter's page of the book ends with: a report that failed, how to repair what it found, one that passed.

The failing function is the first bug of the chapter that a library shipped; for a chapter without one it lies in
``mistakes/``, a function of an exercise's name in a file of the chapter's. The passing one is the course's own answer,
which is called and not shown. The repair is told as a learner is told it: the hints of that exercise.
"""

import ast
import inspect
from pathlib import Path

import nbformat
from graded_kernels.autograder import EXERCISES
from graded_kernels.course.chapter import Exercise, parse
from graded_kernels.course.learner import ROOT
from graded_kernels.course.regions import BACKENDS, find_regions

MISTAKES = Path(__file__).parent / "mistakes"
HEADING = "## A report that failed, its repair, and the one that passed"


def cells(chapter: Path) -> list[nbformat.NotebookNode]:
    """The cells for a chapter's text. Raises LookupError where nothing in it can fail as an example."""
    mistake = MISTAKES / f"{chapter.stem}.py"
    source = mistake.read_text(encoding="utf-8") if mistake.exists() else ""
    written = {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    asked = [p for p in parse(chapter, chapter.read_text(encoding="utf-8")) if isinstance(p, Exercise)]
    for exercise in asked:
        name = exercise.name
        if name in written:
            _, story, code = source.split('"""', 2)
            return section(exercise, story, f"{code.strip()}\n\n\n{check(name, name, BACKENDS[exercise.folder])}")
        if not written and (bugs := getattr(EXERCISES[name], "wild", ())):
            bug, shipped = bugs[0], bugs[0].function
            story = f"{bug.named[0].upper()}{bug.named[1:]}. {bug.story}\n\n```python\n{inspect.getsource(shipped)}```"
            call = f"from {shipped.__module__} import {shipped.__name__}\n\n{check(name, shipped.__name__, 'torch')}"
            return section(exercise, story, call)
    raise LookupError(f"{chapter.name} has no bug that shipped: write a mistake into {mistake}")


def check(name: str, function: str, backend: str) -> str:
    return f'check("{name}", {function}, backend="{backend}")'


def section(exercise: Exercise, story: str, call: str) -> list[nbformat.NotebookNode]:
    """story: what is wrong, and its code where the call does not show it."""
    module = find_regions(ROOT)[exercise.key].path.stem
    name, backend = exercise.name, BACKENDS[exercise.folder]
    ours = f"from graded_kernels.{exercise.folder}.{module} import {name}\n\n{check(name, name, backend)}"
    hint = " ".join(part for part in (EXERCISES[exercise.name].hint, exercise.step) if part)
    return [
        nbformat.v4.new_markdown_cell(f"{HEADING}\n\n{story}", id="example-story"),
        nbformat.v4.new_code_cell(call, id="example-failed"),
        nbformat.v4.new_markdown_cell(f"The hints of this exercise say how to repair it: {hint}", id="example-repair"),
        nbformat.v4.new_markdown_cell("The report of an answer that does so:", id="example-then"),
        nbformat.v4.new_code_cell(ours, id="example-passed", metadata={"tags": ["remove-input"]}),
    ]
