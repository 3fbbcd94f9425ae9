"""``graded-kernels new-assignment NAME``: a teacher's own notebook, which nbgrader releases and this grader grades.

It takes exercises from the chapters, as they stand there, and a teacher's own from the files that `graded-kernels new`
writes. A record of one's own is copied beside the notebook, and nbgrader releases both: a learner's check finds it
there, and the grader takes the released one.

With ``--exam`` the notebook says when it closes, and its first cell closes the course's answers (`exam`).
"""

import argparse
import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..autograder.words import Commands, Exit, UsageError, count, utc_and_local

ROOT = Path(__file__).resolve().parent.parent
TITLE = """# {name}

Write each function so that the check below it passes. Run a check as often as you like: it begins with the case to look
at first, and a hint about it."""
EXAM = """# {name}

This is an exam. **It closes at {closes}: what is handed in later counts nothing.** Hand in early, and again as often as
you like, since the newest one counts:

```
nbgrader submit {name}
```

Write each function so that the check below it passes. Run a check as often as you like: it begins with the case to look
at first. The course's answers are closed: a cell that imports them does not run, and they are not there when your
answer is graded."""
FENCE = "import graded_kernels.course.exam  # closes the course's answers"
CLOSING = """Then, for its time: nbgrader db assignment add {name} --duedate="{closes:%Y-%m-%d %H:%M} UTC"
and in teacher_config.py, where it changes nothing for other assignments:
    c.AssignLatePenalties.plugin_class = "graded_kernels.autograder.classroom.nbgrader.points.PerDay"
    c.PerDay.closed.append("{name}")"""


@dataclass(frozen=True)
class Part:
    """An exercise of the notebook: the statements that its answer needs, its cells, and the points of its check."""

    needs: list[str]
    cells: list[Any]
    points: float


def add_to(commands: Commands) -> None:
    """Adds the command."""
    about = "write a notebook of your own for nbgrader, from exercises of the chapters and of your own"
    command = commands.add_parser("new-assignment", help=about, description=about)
    command.add_argument("name", metavar="NAME", help="of the assignment and of its notebook")
    command.add_argument(
        "--exercise", nargs="+", default=[], metavar="CELL", help="of a chapter, silu_forward-torch say"
    )
    command.add_argument(
        "--record",
        nargs="+",
        default=[],
        metavar="OP_record.py",
        type=Path,
        help="your own, with the answer in OP.py beside it, as `graded-kernels new OP` names them",
    )
    command.add_argument("--exam", metavar="CLOSES", help='it is an exam, and closes then: "2026-12-10 11:00 UTC"')
    command.add_argument("--course", metavar="FOLDER", type=Path, default=Path(), help="the course root (here)")
    command.set_defaults(run=main)


def main(options: argparse.Namespace) -> int:
    """Writes the notebook and the records beside it; returns the exit status. Raises UsageError."""
    folder = _folder(options.course, options.name)
    if not options.exercise and not options.record:
        raise UsageError("an assignment needs an exercise: name some with --exercise, or your own with --record")
    names = [*options.exercise, *map(str, options.record)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{twice[0]} is named twice")
    closes, shown = _time(options.exam) if options.exam else (None, "")
    parts = [*map(_of_chapter, options.exercise), *map(_of_teacher, options.record)]
    text = _notebook(options.name, parts, shown)
    folder.mkdir(parents=True)
    (folder / f"{options.name}.ipynb").write_text(text, encoding="utf-8")
    most = f"{count(len(parts), 'exercise')}, {sum(part.points for part in parts):g} points"
    print(f"{folder / options.name}.ipynb: {most}. Write the text around them there.")
    for path in options.record:
        (folder / path.name).write_bytes(path.read_bytes())
        print(f"{folder / path.name}: released with it, for the checks; so a learner can read the formula.")
    if closes:
        print(CLOSING.format(name=options.name, closes=closes))
    print(f"Then: nbgrader generate_assignment {options.name}")
    return Exit.PASSED


def _time(text: str) -> tuple[datetime, str]:
    """The time in UTC, of a date, a time and the name of a zone; and as learners read it, with that zone's own."""
    local, _, zone = text.rpartition(" ")
    try:
        closes = datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(zone))
    except (ValueError, ZoneInfoNotFoundError):
        raise UsageError(
            f'--exam {text!r} is no time; write "2026-12-10 11:00 UTC", or "2026-12-10 12:00 Europe/Berlin"'
        ) from None
    shown = utc_and_local(closes, closes.tzinfo)
    if closes <= datetime.now(UTC):
        raise UsageError(f"--exam {shown} is past; give the time at which the exam closes")
    return closes.astimezone(UTC), shown


def _folder(course: Path, name: str) -> Path:
    """The folder of a new assignment."""
    if not (course / "nbgrader_config.py").is_file():
        raise UsageError(f"{course.absolute()} is not a course root. Go there, or name it: --course FOLDER")
    if not re.fullmatch(r"\w[\w-]*", name, re.ASCII):
        raise UsageError(f"{name!r} is no name for an assignment; use letters, digits, - and _, as in week_3")
    folder = course / "source" / name
    if folder.exists():
        raise UsageError(f"{folder} exists and stays as it is; choose another name, or change the notebook in it")
    return folder


def _of_chapter(cell_name: str) -> Part:
    """An exercise as it stands in a chapter: its answer and its check."""
    import nbformat

    from ..autograder.classroom.nbgrader.rebuild import exercise_of, grade_id
    from ..autograder.judge.records.table import find
    from . import cells
    from .learner import sources

    known = []
    for path in sources(ROOT):
        named = {grade_id(cell): cell for cell in nbformat.read(path, as_version=4).cells if grade_id(cell)}
        if f"{cell_name}-check" in named:
            answer, check = named[cell_name], named[f"{cell_name}-check"]
            text = _heading(find(exercise_of(cell_name)[0]), exercise_of(cell_name)[1])
            needs = list(_statements(named["setup"].source))
            return Part(needs, [cells.prose(text, f"about-{cell_name}"), answer, check], check.metadata.nbgrader.points)
        known += [name.removesuffix("-check") for name in named if name.endswith("-check")]
    raise UsageError(f"no chapter has an answer cell {cell_name!r}; there are {', '.join(known)}")


def _of_teacher(path: Path) -> Part:
    """A teacher's own exercise, from the file with its record and the answer beside it, which has to pass."""
    from ..autograder.judge.checking.check import check_answer, choose_backend
    from ..autograder.judge.records.external_records import read_text
    from ..autograder.judge.records.settings import Settings
    from ..autograder.runner.call.answer import Answer
    from . import cells
    from .regions import Region, hide_bodies

    if not path.name.endswith("_record.py"):
        raise UsageError(f"{path}: the file with the record of an op is named OP_record.py; rename it")
    name = path.stem.removesuffix("_record")
    answer_file = path.with_name(f"{name}.py")
    try:
        text = path.read_text(encoding="utf-8")
        record, answer = read_text(text, name), Answer.read(answer_file, name)
        if not re.search(rf"^{name}\b.*=", text, re.MULTILINE):
            raise UsageError(f"{path}: the check looks for `{name}` in it; write {name} = Exercise(name={name!r}, ...)")
        needs, line, body = _split(answer_file, answer.text)
        backend = choose_backend(record, "triton" if "import triton" in needs else "torch", None)
        report = check_answer(answer, Settings(backend), record=record)
        source = hide_bodies(Region(name, "", answer_file, line, body))
    except (OSError, ValueError) as error:
        raise UsageError(str(error)) from None
    if not report.passed:
        why = f"graded-kernels check --record {path} {name} {answer_file} --backend {backend}"
        raise UsageError(f"{answer_file} does not pass its own check, and no learner's answer would. To see why: {why}")
    lines = [
        cells.prose(_heading(record, backend), f"about-{name}-{backend}"),
        cells.answer(source, f"{name}-{backend}"),
        cells.check(name, backend, record.points, f"{path.stem}.{name}"),
    ]
    return Part([f"import {path.stem}", *needs], lines, record.points)


def _heading(record: Any, backend: str) -> str:
    return f"## `{record.name}`, in {'Triton' if backend == 'triton' else 'PyTorch'}\n\n{record.summary}"


def _statements(setup: str) -> Iterator[str]:
    """The statements of a chapter's setup cell, but for imports of the course."""
    from ..autograder.runner.call.answer import OURS, imported

    for node in ast.parse(setup).body:
        if not any(module.split(".")[0] == OURS for module in imported(node)):
            yield ast.unparse(node)


def _split(path: Path, source: str) -> tuple[list[str], int, str]:
    """The imports at the top of an answer's file, the number of the line they end in, and what follows them."""
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise UsageError(f"{path}:{error.lineno}: this is not Python: {error.msg}") from None
    head = list(itertools.takewhile(_is_import_or_text, body))
    line = head[-1].end_lineno or 0 if head else 0
    imports = [ast.unparse(node) for node in head if not isinstance(node, ast.Expr)]
    return imports, line, "\n".join(source.split("\n")[line:]).strip("\n")


def _is_import_or_text(statement: ast.stmt) -> bool:
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return text or isinstance(statement, ast.Import | ast.ImportFrom)


def _notebook(name: str, parts: list[Part], closes: str) -> str:
    import nbformat

    from . import cells
    from .build import METADATA, text_of
    from .chapter_rules import CHECK_IMPORT

    needs = dict.fromkeys(need for part in parts for need in part.needs)
    notebook = nbformat.v4.new_notebook(metadata=METADATA)
    title = (EXAM if closes else TITLE).format(name=name, closes=closes)
    first = [CHECK_IMPORT, *([FENCE] if closes else []), *needs]
    notebook.cells = [cells.prose(title, "title"), cells.setup("\n".join(first))]
    notebook.cells += [cell for part in parts for cell in part.cells]
    return text_of(notebook, name)
