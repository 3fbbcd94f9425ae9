"""A teacher's own assignment: the notebook of `graded-kernels new-assignment` is released, graded and given back,
and that can be mended after it was graded.
"""

import ast
import copy
import json
import shutil
from pathlib import Path

import nbformat
import pytest
from classroom import api, assert_success, copied, place, release, scores, shown
from graded_kernels.autograder import cli
from graded_kernels.course import cells
from graded_kernels.course.exam import Closed
from graded_kernels.course.learner import sources
from IPython.core.error import InputRejected
from nbgrader.api import Gradebook

OP, NAME = "sloped", "week_3"
OWN, SILU = f"{OP}-triton", "silu_forward-torch"
RESULT, BY_HELPER = "x * tanh, mask", "x * FACTOR * tanh, mask"


@pytest.fixture
def course(made_course, tmp_path):
    return copied(made_course, tmp_path)


@pytest.fixture
def record(tmp_path):
    """A record of one's own, with an answer that passes beside it."""
    return written(tmp_path)


def written(folder: Path) -> Path:
    assert cli.main(["new", OP, "--like", "elementwise", "--solved", "--into", str(folder)]) == 0
    return folder / f"{OP}_record.py"


@pytest.fixture(scope="module")
def made(made_course, tmp_path_factory) -> Path:
    """A course with the assignment, released."""
    folder = tmp_path_factory.mktemp("own")
    course = copied(made_course, folder)
    assert new(course, "--record", written(folder), "--exercise", SILU) == 0
    release(course, [NAME])
    return course


@pytest.fixture
def released(made, tmp_path):
    return copied(made, tmp_path)


def new(course, *arguments, name: str = NAME) -> int:
    return cli.main(["new-assignment", name, "--course", str(course), *map(str, arguments)])


def source_of(course):
    return course / "source" / NAME / f"{NAME}.ipynb"


def change(path, edit) -> None:
    notebook = nbformat.read(path, as_version=4)
    edit(notebook.cells)
    nbformat.write(notebook, path)


def hand_in(course, student: str, old: str = "", new: str = "") -> None:
    """Our answers, with ``new`` for ``old``."""
    notebook = nbformat.read(source_of(course), as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace(old, new)
    place(course, student, NAME).write_text(json.dumps(notebook))


def grade(course) -> str:
    result = api(course).autograde(NAME, "*")
    assert_success(result)
    return result["log"]


def release_again(course) -> dict:
    return api(course).generate_assignment(NAME, force=True)


def test_it_is_released_graded_and_given_back(released, capsys):
    folder = released / "release" / NAME
    assert sorted(path.name for path in folder.iterdir()) == [f"{OP}_record.py", f"{NAME}.ipynb"]
    assert "tanh = tl.where" not in (folder / f"{NAME}.ipynb").read_text()
    hand_in(released, "right")
    hand_in(released, "wrong", RESULT, "2 * x * tanh, mask")
    place(released, "stub", NAME).write_text((folder / f"{NAME}.ipynb").read_text())
    grade(released)
    assert scores(released, "right", NAME) == {OWN: 4, SILU: 2}
    assert scores(released, "wrong", NAME) == {OWN: 1.6, SILU: 2}
    assert scores(released, "stub", NAME) == {OWN: 0, SILU: 0}
    assert "y is wrong" in shown(released, "wrong", f"{OWN}-check", NAME)
    assert_success(api(released).generate_feedback(NAME, "wrong"))
    assert "y is wrong" in (released / "feedback" / "wrong" / NAME / f"{NAME}.html").read_text()


def test_a_learner_checks_in_place(released, monkeypatch):
    """The released folder has all that a check needs."""
    monkeypatch.chdir(released / "release" / NAME)
    monkeypatch.syspath_prepend(".")
    names: dict = {"__name__": "__main__"}
    for cell in nbformat.read(source_of(released), as_version=4).cells:
        if cell.cell_type == "code" and cell.id.partition("-")[0] in ("setup", OP):
            exec(compile(cell.source, "<cell>", "eval" if cell.id.endswith("check") else "exec"), names)
    assert names["check"](names[f"{OP}_record"].sloped, lambda x: x, backend="torch").summary


def test_an_exam_closes_at_its_time_and_has_no_answer_of_ours(made_course, tmp_path, capsys):
    """Whoever is late gets nothing, an answer that calls ours neither, and a cell that imports ours does not run."""
    course, closing = copied(made_course, tmp_path), "2099-12-10 12:00 Europe/Berlin"
    assert new(course, "--exercise", SILU, "--exam", closing, name="exam_1") == 0
    printed = capsys.readouterr().out
    assert 'db assignment add exam_1 --duedate="2099-12-10 11:00 UTC"' in printed
    settings = "\n".join(line.strip() for line in printed.splitlines() if line.strip().startswith("c."))
    (course / "teacher_config.py").write_text(f"c.PerDay.closed = ['exam_0']\n{settings}\nc.Hints.after = 2\n")
    assert api(course).config.PerDay.closed == ["exam_0", "exam_1"]
    release(course, ["exam_1"])
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        gradebook.update_or_create_assignment("tiny", duedate="2099-12-10 11:00 UTC")
        gradebook.update_or_create_assignment("exam_1", duedate="2099-12-10 11:00 UTC")
    exam = (course / "release" / "exam_1" / "exam_1.ipynb").read_text()
    assert "It closes at 2099-12-10 11:00 UTC (12:00 Europe/Berlin)" in exam
    assert "Stuck?" not in exam
    assert 'backend=\\"torch\\", hints_after=2)' in exam
    source = nbformat.read(course / "source" / "exam_1" / "exam_1.ipynb", as_version=4)
    borrowed = "def silu_forward(x):\n    from graded_kernels.solutions import silu\n\n    return silu.silu_forward(x)"
    for student, hour, answer in (("ann", 10, ""), ("late", 12, ""), ("borrows", 10, borrowed)):
        handed_in = copy.deepcopy(source)
        if answer:
            next(cell for cell in handed_in.cells if cell.id == SILU).source = answer
        path = place(course, student, "exam_1")
        nbformat.write(handed_in, path)
        path.with_name("timestamp.txt").write_text(f"2099-12-10 {hour}:00:00 UTC")
    assert_success(api(course).autograde("exam_1", "*"))
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        found = {one.student.id: one for one in gradebook.assignment_submissions("exam_1")}
        got = {name: one.score - (one.late_submission_penalty or 0) for name, one in found.items()}
    assert got == {"ann": 2, "late": 0, "borrows": 0}
    assert_success(api(course).generate_feedback("exam_1", "late"))
    page = (course / "feedback" / "late" / "exam_1" / "exam_1.html").read_text()
    assert "Late submission penalty (Score: -2.0), handed in 1.0 hours after 2099-12-10 11:00 UTC" in page
    shutil.copy(course / "release" / "tiny" / "tiny.ipynb", place(course, "late"))
    place(course, "late").with_name("timestamp.txt").write_text("2099-12-12 12:00:00 UTC")
    log = api(course).autograde("tiny", "late")["log"]
    assert "late, tiny: 2.0 days late, no points taken off" in log


IMPORTS = {
    "from graded_kernels.kernels import silu": True,
    "def f():\n    import graded_kernels.solutions.silu as silu": True,
    "from graded_kernels import solutions": True,
    "from graded_kernels.kernels.wild import silu": False,
    "from graded_kernels.kernels import wild": False,
    "from graded_kernels.autograder import check": False,
}


@pytest.mark.parametrize("cell", IMPORTS)
def test_a_cell_that_imports_an_answer_does_not_run_in_an_exam(cell):
    if IMPORTS[cell]:
        with pytest.raises(InputRejected, match="answers are closed"):
            Closed().visit(ast.parse(cell))
    else:
        assert ast.unparse(Closed().visit(ast.parse(cell))) == cell


@pytest.mark.parametrize("time", ["soon", "2099-12-10 11:00", "2099-12-10 12:00 +01:00"])
def test_an_exam_without_a_time_is_not_made(course, time, capsys):
    assert new(course, "--exercise", SILU, "--exam", time) == 2
    assert "is no time" in capsys.readouterr().err


def test_an_exam_that_closes_in_the_past_is_not_made(course, capsys):
    assert new(course, "--exercise", SILU, "--exam", "2020-12-10 12:00 Europe/Berlin") == 2
    assert "--exam 2020-12-10 11:00 UTC (12:00 Europe/Berlin) is past" in capsys.readouterr().err
    assert not source_of(course).exists()


def test_a_graded_notebook_is_mended_by_a_cell_that_runs(released):
    """An answer that passed in JupyterLab, by a helper that the teacher left out of the notebook."""
    hand_in(released, "ann", RESULT, BY_HELPER)
    grade(released)
    assert scores(released, "ann", NAME) == {OWN: 0, SILU: 2}
    change(source_of(released), lambda found: found.insert(2, nbformat.v4.new_code_cell("FACTOR = tl.constexpr(1)")))
    assert_success(release_again(released))
    assert "since these changed: the released cells that run" in grade(released)
    assert scores(released, "ann", NAME) == {OWN: 4, SILU: 2}


def test_a_record_that_was_mended_is_graded_by(released):
    hand_in(released, "ann", RESULT, "2 * x * tanh, mask")
    grade(released)
    path = released / "source" / NAME / f"{OP}_record.py"
    path.write_text(path.read_text().replace("return x * torch.tanh(x)", "return 2 * x * torch.tanh(x)"))
    assert_success(release_again(released))
    assert f"since these changed: the record of {OP}" in grade(released)
    assert scores(released, "ann", NAME)[OWN] == 4
    (released / "release" / NAME / path.name).chmod(0o644)
    (released / "release" / NAME / path.name).write_text("import no_such_module\n")
    result = api(released).autograde(NAME, "*")
    assert not result["success"]
    assert f"{OP}_record.py, line 1: ModuleNotFoundError: No module named 'no_such_module'" in result["log"]
    assert scores(released, "ann", NAME)[OWN] == 4


def test_what_would_change_a_graded_gradebook_is_refused(released):
    hand_in(released, "ann")
    grade(released)
    before = (released / "release" / NAME / f"{NAME}.ipynb").read_bytes()
    helper = cells.setup("FACTOR = 1")
    helper.id = helper.metadata.nbgrader["grade_id"] = "helper"
    change(source_of(released), lambda found: found.insert(2, helper))
    result = release_again(released)
    assert not result["success"]
    assert "locked cells must stay: `helper` is new. What is missing can go into a code cell" in result["log"]
    assert (released / "release" / NAME / f"{NAME}.ipynb").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "an assignment needs an exercise"),
        (("--exercise", "silu_forwards-torch"), "no chapter has an answer cell 'silu_forwards-torch'; there are "),
        (("--record", "ops.py"), "ops.py: the file with the record of an op is named OP_record.py"),
        (("--record", "no_record.py"), "No such file or directory: 'no_record.py'"),
        (("--exercise", SILU, SILU), f"{SILU} is named twice"),
    ],
)
def test_what_cannot_be_written_is_told_in_a_sentence(course, arguments, words, capsys):
    assert new(course, *arguments) == 2
    assert words in capsys.readouterr().err
    assert not source_of(course).parent.exists()


def test_an_answer_that_fails_its_own_check_is_refused(course, record, capsys):
    answer = record.with_name(f"{OP}.py")
    answer.write_text(answer.read_text().replace(RESULT, "2 * x * tanh, mask"))
    assert new(course, "--record", record) == 2
    assert f"{answer} does not pass its own check, and no learner's answer would" in capsys.readouterr().err
    assert not source_of(course).parent.exists()


@pytest.mark.parametrize(
    ("suffix", "old", "other", "words"),
    [
        ("", "def sloped(", "def sloped(:", "sloped.py:20: this is not Python: invalid syntax"),
        ("", "def sloped(", "def slope(", "sloped.py does not pass its own check"),
        (
            "_record",
            "sloped = Exercise(",
            "mine = Exercise(",
            "the check looks for `sloped` in it; write sloped =",
        ),
        ("_record", "import torch\n", "import no_such\n", "sloped_record.py, line 3: ModuleNotFoundError: No module"),
    ],
)
def test_a_mistake_in_a_teachers_file_is_told_in_a_sentence(course, record, capsys, suffix, old, other, words):
    path = record.with_name(f"{OP}{suffix}.py")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, other))
    assert new(course, "--record", record) == 2
    assert words in capsys.readouterr().err


def test_a_name_or_a_folder_that_cannot_be_is_refused(course, capsys):
    assert new(course, "--exercise", SILU, name="week 3") == 2
    assert "is no name for an assignment" in capsys.readouterr().err
    assert new(course, "--exercise", SILU, name="tiny") == 2
    assert "exists and stays as it is" in capsys.readouterr().err
    assert new(course / "source", "--exercise", SILU) == 2
    assert "is not a course root" in capsys.readouterr().err


def test_learners_are_not_given_it_with_the_chapters(tmp_path):
    """`make lab` in the clone of a teacher, whose own assignments lie beside the chapters."""
    (tmp_path / "course" / "chapters").mkdir(parents=True)
    (tmp_path / "course" / "chapters" / "01_silu.md").touch()
    built = [tmp_path / "course" / "source" / name / f"{name}.ipynb" for name in ("01_silu", NAME)]
    for path in built:
        path.parent.mkdir(parents=True)
        path.touch()
    assert sources(tmp_path) == built[:1]
