"""Builds the instructor's notebooks from the chapters: ``python -m graded_kernels.course.build [--check]``.

``course/chapters/NN_case.md`` and regions of ``solutions/*.py`` and ``kernels/*.py`` become
``course/source/NN_case/NN_case.ipynb``, and ``course/start.md`` becomes ``course/start.ipynb``. The same text gives the
same bytes; ``--check`` says which notebook is stale. So do the points and hours in ``course/TEACHING.md``.

A chapter is MyST Markdown. Its ``{code-cell}`` blocks become code cells, and three things have a meaning of their own:

- The first code cell is the *setup* cell. It is locked, and holds every import that an answer needs.
- A line ``{exercise}`solutions/silu_backward` `` (or ``kernels/...``) becomes two cells: the answer, taken from the
  region of that name with what a learner has to write marked as solution, and a locked check with the record's points;
  below them a ladder of hints. A line ``:step: ...`` right after it, which may go on until the next empty line, is the
  second hint of that ladder: it names the step of this answer, in PyTorch or in Triton, without giving it away. A line
  that ends in ``optional`` makes an exercise worth no points.
- A question answered in words and graded by hand. The question itself is the prose above; this block is the teacher's::

      ```{question} silu_epsilon
      :points: 3
      The marking guide, in Markdown. It never reaches a learner.
      ```

A notebook is copied to other folders, so prose links to the web alone, and a picture is drawn by a cell (`figures`).
"""

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from ..autograder.judge import (
    RecordError,
    Witness,
    records,  # whose EXERCISES are imported when they are first asked for
)
from ..autograder.judge.commands.listing import KEPT, row_of
from ..autograder.words import Terminal
from . import cells, pieces, words
from .chapter import ChapterError, Exercise, parse
from .pieces import Records, Regions
from .regions import BACKENDS, find_regions, hide_bodies
from .term import calendar

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "python -m graded_kernels.course.build"
# What every chapter ends with.
END = """## How far you are

The next cell reads the reports of this notebook: what is passed, what is left, which distinctions, and where to go on.

```{{code-cell}} python
from graded_kernels.course import progress

progress.chapter("{name}")
```
"""
REPORTED = "The report above begins with the case to look at first, and a hint about it."
# What follows every check.
STUCK = """<details><summary>Stuck? Or done?</summary>

{hints}
1. After a try of your own, this in a new cell shows the course's answer and what differs in accuracy, bytes moved and
   registers (in an assignment it is off):

   ```python
   from graded_kernels.course import answers

   answers.beside("{name}", {name}, backend="{backend}")
   ```

</details>"""
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def build(chapter: Path, regions: Regions, exercises: Records | None = None) -> str:
    """The notebook of one chapter, as the text of its file. What it asks for must be there (`pieces.problems`).

    Raises `ChapterError`, naming file and line, for a malformed directive.
    """
    exercises = records.EXERCISES if exercises is None else exercises
    notebook = nbformat.v4.new_notebook(metadata=METADATA)
    meanings = words.glossary(chapter.parents[2])
    text, used = words.linked(chapter.read_text(encoding="utf-8"), meanings)
    for piece in parse(chapter, text):
        if isinstance(piece, str):
            notebook.cells += _text_cells(piece, chapter, first=not _has_setup(notebook))
        elif isinstance(piece, Exercise):
            notebook.cells += _exercise_cells(piece, chapter, regions, exercises)
        else:
            notebook.cells.append(cells.question(piece.guide, piece.name, piece.points))
    if used:
        notebook.cells += _text_cells(words.section(used, meanings), chapter, first=False)
    if chapter.parent.name == "chapters":
        notebook.cells += _text_cells(END.format(name=chapter.stem), chapter, first=False)
    return text_of(notebook, chapter.stem)


def text_of(notebook: NotebookNode, name: str) -> str:
    """The text of a notebook's file, with its name and its version in the metadata."""
    _number_repeated_ids(notebook)
    body = nbformat.writes(notebook, version=4)
    version = hashlib.sha256(body.encode()).hexdigest()[:12]
    notebook.metadata["graded_kernels"] = {"chapter": name, "version": version}
    nbformat.validate(notebook)
    return f"{nbformat.writes(notebook, version=4)}\n"


def _has_setup(notebook: NotebookNode) -> bool:
    return any(cell.cell_type == "code" for cell in notebook.cells)


def _text_cells(text: str, chapter: Path, *, first: bool) -> list[NotebookNode]:
    """Prose and demo cells; where ``first``, the first code cell is the setup cell."""
    built = []
    for cell in jupytext.reads(text, fmt={"extension": ".md", "format_name": "myst"}).cells:
        id = _id(chapter, cell.source)
        if cell.cell_type == "markdown":
            built.append(cells.prose(cell.source, id))
        elif first:
            built.append(cells.setup(cell.source))
            first = False
        else:
            built.append(cells.demo(cell.source, id))
    return built


def _id(chapter: Path, source: str) -> str:
    """An id made of the content stays the same when something else in the chapter moves."""
    return f"{chapter.stem}-{hashlib.sha256(source.encode()).hexdigest()[:8]}"


def _exercise_cells(piece: Exercise, chapter: Path, regions: Regions, exercises: Records) -> list[NotebookNode]:
    record, backend = exercises[piece.name], BACKENDS[piece.folder]
    source = hide_bodies(regions[piece.key])
    hints = [REPORTED, "" if isinstance(record, Witness) else record.hint, piece.step]  # a report shows a witness's
    ladder = "\n".join(f"1. {hint}" for hint in hints if hint)  # Markdown counts on
    stuck = STUCK.format(hints=ladder, name=piece.name, backend=backend)
    return [
        cells.answer(source, f"{piece.name}-{backend}"),
        cells.check(piece.name, backend, 0 if piece.optional else record.points),
        cells.prose(stuck, _id(chapter, stuck)),
    ]


def _number_repeated_ids(notebook: NotebookNode) -> None:
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        seen[cell.id] += 1
        if seen[cell.id] > 1:
            cell.id = f"{cell.id}-{seen[cell.id]}"


def build_all(
    root: Path = ROOT, exercises: Records | None = None, show: Callable[[str], None] = lambda text: None
) -> dict[Path, str]:
    """Returns what is built below ``root``: the path of each chapter's notebook, of the guide to teaching and of the
    listing of exercises, and the text that belongs there. ``show`` takes what is under way.

    Raises `ChapterError` for whatever is wrong below ``root``, a line for each mistake.
    """
    try:
        exercises = records.EXERCISES if exercises is None else exercises
    except RecordError as error:
        raise ChapterError(pieces.relative(str(error), root)) from error
    if sentences := pieces.problems(root, exercises, show):
        raise ChapterError("\n".join(sentences))
    regions, source = find_regions(root), root / "course" / "source"
    chapters = sorted((root / "course" / "chapters").glob("*.md"))
    targets = {source / path.stem / f"{path.stem}.ipynb": path for path in chapters}
    if (start := root / "course" / "start.md").exists():  # not among the sources: nbgrader takes each for an assignment
        targets[start.with_suffix(".ipynb")] = start
    built = {}
    for target, path in targets.items():
        show(path.stem)
        built[target] = build(path, regions, exercises)
    if (guide := root / "course" / "TEACHING.md").exists():
        notebooks = {path.stem: built[target] for target, path in targets.items() if path in chapters}
        built[guide] = calendar(guide.read_text(encoding="utf-8"), notebooks)
    if (listing := root / pieces.RECORDS / KEPT).exists():
        built[listing] = json.dumps([row_of(record) for record in exercises.values()], indent=1) + "\n"
    return built


def stray_files(source: Path, notebooks: dict[Path, str]) -> list[Path]:
    """Files in ``source`` that no chapter builds. nbgrader would release them to learners."""
    hidden = ".ipynb_checkpoints"
    return [p for p in sorted(source.rglob("*")) if p.is_file() and p not in notebooks and hidden not in p.parts]


def main(arguments: list[str] | None = None, root: Path = ROOT, exercises: Records | None = None) -> int:
    """Builds what is stale, or with ``--check`` names it. Returns an exit status."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Build course/source from course/chapters.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a notebook is stale")
    check = parser.parse_args(arguments).check
    line = Terminal(sys.stderr)
    try:
        notebooks = build_all(root, exercises, line.show if sys.stderr.isatty() else lambda text: None)
    except ChapterError as error:
        line.clear()
        print(error, file=sys.stderr)
        return 1
    line.clear()
    status = 0
    source = root / "course" / "source"
    chapters = {path.parent for path in notebooks} | {source}
    for path in stray_files(source, notebooks):
        if check or path.parent in chapters:
            print(f"{path.relative_to(root)}: no chapter builds this file, and nbgrader would release it; delete it")
            status = 1
        else:
            print(f"{path.relative_to(root)}: no chapter builds this file; it is left as an assignment of your own")
    for path, text in notebooks.items():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        name = path.relative_to(root)
        if check:
            print(f"{name} is stale: its chapter, an answer or a record has changed. Run: {COMMAND}")
            status = 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"built {name}")
    return status


if __name__ == "__main__":
    sys.exit(main())
