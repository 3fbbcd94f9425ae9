"""A teacher's own points and costs, from the configuration: they check nothing again, and the gradebook has them."""

import nbformat
import pytest
from classroom import api, assert_success, autograded, copied, place, right_answers, scores
from graded_kernels.autograder.classroom import class_report
from graded_kernels.autograder.classroom.course import configured
from graded_kernels.autograder.classroom.nbgrader.by_hand import moved, seen
from graded_kernels.autograder.classroom.nbgrader.points import PointsError, costs_of
from graded_kernels.autograder.classroom.nbgrader.rebuild import NOT_GRADED, RECORD, UNREAD
from graded_kernels.autograder.judge import Store
from make_submissions import grade_id
from nbgrader.api import Gradebook
from tampered import FULL, TORCH, find

CHECK = f"{TORCH}-check"


@pytest.fixture
def course(made_course, tmp_path):
    made = copied(made_course, tmp_path)
    right = right_answers(made)
    place(made, "ada").write_text(nbformat.writes(nbformat.from_dict(right)))
    cell = find(right, TORCH)
    cell["source"] += (
        "\n\nright = silu_forward\n\n\ndef silu_forward(x):\n    return right(x).float()  # class_secret\n"
    )
    place(made, "bob").write_text(nbformat.writes(nbformat.from_dict(right)))
    return made


def graded(course, **settings) -> str:
    """What nbgrader's log says; ``settings`` of `Grade`."""
    made = api(course)
    for name, value in settings.items():
        made.config.Grade[name] = value
    logs = []
    for student in ("ada", "bob"):
        result = made.autograde("tiny", student)
        assert_success(result)
        logs.append(result["log"])
    return "\n".join(logs)


def most(course) -> dict[str, float]:
    """What the gradebook has for the most that each cell is worth."""
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        return {cell.name: cell.max_score for cell in gradebook.find_notebook("tiny", "tiny").grade_cells}


def test_settings_of_a_teacher_are_in_a_file_of_their_own(course):
    assert "points" not in api(course).config.Grade
    (course / "teacher_config.py").write_text("c.Grade.points = {'tiny/tiny_words': 4}\nc.Grades.exclude = ['me']\n")
    config = api(course).config
    assert (config.Grade.points, config.Grades.exclude) == ({"tiny/tiny_words": 4}, ["me"])
    assert config.ExportApp.plugin_class.endswith("export.Grades")


@pytest.mark.exhaustive
def test_other_points_and_costs_check_nothing_again(course):
    assert "  bob, tiny: class_secret" in graded(course)
    assert (scores(course, "ada"), scores(course, "bob")) == (FULL, FULL | {TORCH: 1.86})
    made, before = [*Store(course).made()], most(course)

    own = {f"tiny/{TORCH}": 10, "tiny/tiny_words": 4, f"both/{TORCH}": 1}
    log = graded(course, points=own, costs={"dtype": 15, "dtypes": 10})
    acting = f"{TORCH} is worth 10; tiny_words is worth 4; dtype costs 15 of 100; dtypes costs 10 of 100"
    assert f"Your settings that act here: {acting}\n" in log
    assert "the points of tiny_words" in log
    assert (scores(course, "ada"), scores(course, "bob")) == (FULL | {TORCH: 10.0}, FULL | {TORCH: 8.5})
    assert most(course) == before | {CHECK: 10.0, "tiny_words": 4.0}
    assert "the points of silu_forward-torch-check" in log
    assert "what failures cost" in log
    assert "has changed!" not in log  # nbgrader's own remark about each cell
    (cell,) = (cell for cell in autograded(course, "bob").cells if grade_id(cell) == CHECK)
    page = "".join(output.data["text/html"] for output in cell.outputs)
    assert cell.metadata.nbgrader["points"] == 10
    for text in ("<b>8.5 of 10 points</b>", "<dt>form: dtype</dt><dd><b>-15</b> "):
        assert text in page, page
    assert "% of the points" not in page  # by other costs
    written = {path.name: path for path in class_report.write(configured(course).coursedir, "tiny")}
    changed = written["tiny-changed.csv"].read_text(encoding="utf-8-sig").splitlines()
    assert [line.split(",")[:4] for line in changed[1:]] == [
        ["ada", TORCH, "2.0", "10.0"],
        ["bob", TORCH, "1.86", "8.5"],
    ]
    assert "what failures cost" in changed[1]
    assert "dtype 15" in changed[2]
    page = written["tiny.html"].read_text(encoding="utf-8")
    assert page.index("Points that a regrade changed") < page.index("dtype 15") < page.index("Exercises")

    graded(course)
    assert (scores(course, "bob"), most(course)) == (FULL | {TORCH: 1.86}, before)
    assert [*Store(course).made()] == made
    assert len(list(Store(course))) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"points": {"tiny/silu_forward-torhc": 3}}, "no released notebook has 'tiny/silu_forward-torhc'; there are "),
        ({"points": {f"memory/{TORCH}": 3}}, f"no released notebook has 'memory/{TORCH}'; there are "),
        (
            {"points": {TORCH: 3}},
            f"'{TORCH}' names no assignment; write '01_silu/{TORCH}' or 'both/{TORCH}' or 'tiny/{TORCH}'",
        ),
        ({"points": {f"tiny/{TORCH}": -1}}, f"c.Grade.points: tiny/{TORCH} is -1; give a number from 0 on"),
        (
            {"costs": {"speed": 5}},
            "c.Grade.costs: there is no 'speed'; there are plain, effects, layouts, dtypes, edges",
        ),
        ({"costs": {"point": "half"}}, "c.Grade.costs: point is 'half'; give a number from 0 to 100"),
        ({"costs": {"plain": 80}}, "c.Grade.costs: plain and point are 105 together; give at most 100"),
    ],
)
def test_points_that_cannot_be_given_stop_the_run_before_it_begins(course, settings, message):
    made = api(course)
    made.config.Grade.update(settings)
    result = made.autograde("tiny", "ada")
    assert not result["success"]
    assert "Nothing was graded: c.Grade" in result["log"]
    assert message in result["log"]
    assert not (course / "autograded").exists()


@pytest.mark.parametrize("ungraded", [None, "unread", "check"])
def test_what_waits_for_a_person_has_no_automatic_score(made_course, ungraded):
    """nbgrader counts a check without an output, as in a file that was not read, as full marks."""
    notebook = nbformat.from_dict(right_answers(made_course))
    for cell in notebook.cells:
        cell.outputs = [] if cell.cell_type == "code" else None
    if ungraded == "unread":
        notebook.metadata[RECORD] = {UNREAD: "is not a notebook"}
    if ungraded == "check":
        find(notebook, CHECK)["metadata"][RECORD] = {NOT_GRADED: True}
    found = seen(notebook)
    assert (found[CHECK][1] is None) == bool(ungraded)
    assert (moved(CHECK, {CHECK: (found[CHECK][0], 1.0)}, found) is None) == bool(ungraded)


def test_costs_that_are_left_out_stay():
    assert costs_of({"point": 50}) == {**costs_of({}), "point": 50}
    with pytest.raises(PointsError):
        costs_of({"point": 71})
