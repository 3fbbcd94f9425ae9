"""`make exercise`: three files, the lines of a chapter and of the library, and what is missing then is told."""

import re
import shutil
import subprocess
import sys
import types

import pytest
import torch
from graded_kernels import solutions
from graded_kernels.autograder import check
from graded_kernels.autograder.judge import EXERCISES, Exercise
from graded_kernels.course import build, new_exercise, pieces

FILES = ["autograder/exercises/swish.py", "solutions/swish.py", "kernels/swish.py"]
LISTS = [new_exercise.LIBRARY, new_exercise.TABLE]
LINES = [f"{{exercise}}`{folder}/swish_{which}`" for folder in pieces.BACKENDS for which in ("forward", "backward")]


@pytest.fixture
def root(tmp_path):
    """The first chapters and the last, what the library exports and lists, and room for an exercise."""
    for name in [*FILES, *LISTS]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    for name in LISTS:
        shutil.copy(build.ROOT / name, tmp_path / name)
    (tmp_path / "course/chapters").mkdir(parents=True)
    first, second, *_, last = sorted((build.ROOT / "course/chapters").glob("*.md"))
    for path in (first, second, last):
        shutil.copy(path, tmp_path / "course/chapters")
    shutil.copy(build.ROOT / "course/WORDS.md", tmp_path / "course")
    return tmp_path


def make(root, *arguments: str) -> int:
    return new_exercise.main(list(arguments), root)


def module(root, file: str, text: str = "", **names) -> types.ModuleType:
    """A file that was written, or ``text``, as a module of the package."""
    found = types.ModuleType(f"graded_kernels.{file.removesuffix('.py').replace('/', '.')}")
    vars(found).update(names)
    exec(text or (root / file).read_text(encoding="utf-8"), vars(found))
    return found


def records(root) -> dict[str, Exercise]:
    return {name: value for name, value in vars(module(root, FILES[0])).items() if isinstance(value, Exercise)}


@pytest.mark.parametrize(("family", "says"), [("losses", "there is no family 'losses'; LIKE is"), ("", "LIKE is")])
def test_an_unknown_family_is_told_in_a_sentence(family, says, root, capsys):
    assert make(root, "swish", "--like", family) == 2
    assert capsys.readouterr().err == f"{says} elementwise, rowwise, loss or nothing, as in LIKE=elementwise\n"


@pytest.mark.parametrize("half", ["forward", "backward"])
def test_the_name_of_one_half_is_no_name_for_the_pair(half, root, capsys):
    assert make(root, f"swish_{half}", "--like", "elementwise") == 2
    assert capsys.readouterr().err.startswith("NAME is that of the pair: NAME=swish makes swish_forward")
    assert not (root / FILES[0]).exists()


@pytest.mark.parametrize("family", new_exercise.FAMILIES)
def test_what_is_missing_is_told_and_nothing_else(family, root):
    assert make(root, "swish", "--like", family) == 0
    problems = [one for one in pieces.problems(root, EXERCISES | records(root)) if "swish" in one]
    stubs = [one for one in problems if one.startswith(("solutions/", "kernels/"))]
    hints = problems[4:]
    assert [one.split(":")[0] for one in stubs] == 2 * ["solutions/swish.py", "kernels/swish.py"]
    assert all("is a stub: write its body" in one for one in stubs)
    assert len(hints) == 4
    assert all("a line `:step:` gives the second hint" in one for one in hints)


@pytest.mark.parametrize("family", new_exercise.FAMILIES)
def test_what_is_written_is_in_style(family, root):
    """But for the imports that the answers are going to need."""
    make(root, "swish", "--like", family)
    ruff, config = [sys.executable, "-m", "ruff"], ["--config", str(build.ROOT / "pyproject.toml")]
    paths = [str(root / name) for name in FILES]
    for command in (
        ["check", paths[0]],
        ["check", "--ignore", "F401", *paths[1:]],
        ["format", "--check", *paths],
    ):
        done = subprocess.run([*ruff, *command, *config], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("family", new_exercise.FAMILIES)
def test_the_record_accepts_the_formula_in_pytorch(family, root):
    make(root, "swish", "--like", family)
    for name, record in records(root).items():
        report = check(record, record.peer, backend="torch")
        assert report.passed, f"{name}: {report}"


@pytest.mark.parametrize(("name", "before"), [("abs_max", 0), ("kinks", 9), ("zeta", 23)])
def test_the_library_exports_and_lists_it_in_alphabetical_order(name, before, root):
    texts = [(root / file).read_text(encoding="utf-8") for file in LISTS]
    make(root, name, "--like", "nothing")
    library, table = ((root / file).read_text(encoding="utf-8") for file in LISTS)
    assert library.replace(f"from .{name} import {name}\n", "").replace(f'    "{name}",\n', "") == texts[0]
    exported = re.findall(r'^    "(\w+)",$', library, re.MULTILINE)
    assert exported == sorted(exported) and exported.index(name) == before
    rows = re.findall(r"^\| `(\w+)` .*$", table, re.MULTILINE)
    assert rows == sorted(rows)
    assert [row for row in rows if row != name] == re.findall(r"^\| `(\w+)` .*$", texts[1], re.MULTILINE)


@pytest.mark.parametrize("chapter", ["01_silu", "00_floats_and_tiles", ""])
def test_the_lines_come_before_the_measurements_or_at_the_end(chapter, root):
    pages = {path.stem: path for path in sorted((root / "course/chapters").glob("*.md"))}
    path = pages[chapter or max(pages)]
    before = path.read_text(encoding="utf-8")
    assert make(root, "swish", "--like", "elementwise", "--chapter", chapter) == 0
    after = path.read_text(encoding="utf-8")
    added = ["## swish", *(line for answer in LINES for line in (answer, ":step:"))]
    section = [line for line in after[after.index(added[0]) :].splitlines() if line]
    assert section[: len(added)] == added
    assert section[len(added) :][:1] == [line for line in before.splitlines() if line == "## What it cost"]
    assert [line for line in after.splitlines() if line and line not in added] == [
        line for line in before.splitlines() if line
    ]


def test_what_is_there_stays(root, capsys):
    (root / FILES[2]).write_text("mine")
    assert make(root, "swish", "--like", "loss") == 2
    assert capsys.readouterr().err == "kernels/swish.py exists and stays as it is: choose another NAME\n"
    assert (root / FILES[2]).read_text() == "mine"
    assert not (root / FILES[0]).exists()


def test_an_unknown_chapter_or_a_bad_name_writes_nothing(root, capsys):
    assert make(root, "swish", "--like", "loss", "--chapter", "09_nothing") == 2
    assert "there is no chapter '09_nothing'; CHAPTER is one of 00_floats_and_tiles, 01_silu" in capsys.readouterr().err
    assert make(root, "", "--like", "loss") == 2
    assert "'' is not a name for a Python function" in capsys.readouterr().err
    assert not any((root / name).exists() for name in FILES)


def test_the_library_function_is_differentiable(root, monkeypatch):
    """Once the stubs are answers: its numbers are handed on, and have no gradient."""
    make(root, "swish", "--like", "rowwise")
    record = module(root, FILES[0])
    text = (root / FILES[1]).read_text(encoding="utf-8")
    for call in ("formula(x, eps)", "derivative(dy, x, eps)"):
        text = text.replace("    ...\n", f"    return {call}\n", 1)
    answers = module(root, FILES[1], text, formula=record.formula, derivative=record.derivative)
    monkeypatch.setattr(solutions, "swish", answers, raising=False)
    x = torch.randn(3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: module(root, FILES[2]).swish(x, eps=0.5), x)
