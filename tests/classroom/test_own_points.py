"""A teacher's own points and weights, from the configuration: they check nothing again, and the gradebook has them."""

import nbformat
import pytest
from classroom import api, assert_success, autograded, copied, place, right_answers, scores
from graded_kernels.autograder.classroom import class_report
from graded_kernels.autograder.classroom.course import configured
from graded_kernels.autograder.classroom.nbgrader.points import weights_of
from graded_kernels.autograder.judge.results.scoring import Points
from graded_kernels.autograder.judge.verdicts.store import LOG, Store
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
    (course / "teacher_config.py").write_text("c.Grade.points = {'tiny_words': 4}\nc.Grades.exclude = ['me']\n")
    config = api(course).config
    assert (config.Grade.points, config.Grades.exclude) == ({"tiny_words": 4}, ["me"])
    assert config.ExportApp.plugin_class.endswith("export.Grades")


@pytest.mark.exhaustive
def test_other_points_and_weights_check_nothing_again(course):
    assert "  bob, tiny: class_secret" in graded(course)
    assert (scores(course, "ada"), scores(course, "bob")) == (FULL, FULL | {TORCH: 1.7})
    made, before = (course / "verdicts" / LOG).read_bytes(), most(course)

    log = graded(course, points={TORCH: 10, "tiny_words": 4}, aims={"plain": 60, "dtypes": 20})
    assert (scores(course, "ada"), scores(course, "bob")) == (FULL | {TORCH: 10.0}, FULL | {TORCH: 8.5})
    assert most(course) == before | {CHECK: 10.0, "tiny_words": 4.0}
    assert "the points of silu_forward-torch-check" in log
    assert "the weights of the aims" in log
    assert "has changed!" not in log  # nbgrader's own remark about each cell
    (cell,) = (cell for cell in autograded(course, "bob").cells if grade_id(cell) == CHECK)
    page = "".join(output.data["text/html"] for output in cell.outputs)
    assert cell.metadata.nbgrader["points"] == 10
    for text in ("<b>8.5 of 10 points</b>", "<dt>plain values</dt><dd><b>42.9 of 42.9</b>", "the form costs 15"):
        assert text in page, page
    assert "% of the points" not in page  # by other weights
    written = {path.name: path for path in class_report.write(configured(course).coursedir, "tiny")}
    changed = written["tiny-changed.csv"].read_text(encoding="utf-8-sig").splitlines()
    assert [line.split(",")[:4] for line in changed[1:]] == [
        ["ada", TORCH, "2.0", "10.0"],
        ["bob", TORCH, "1.7", "8.5"],
    ]
    assert "the weights of the aims" in changed[1]
    assert "the form costs 15" in changed[2]
    page = written["tiny.html"].read_text(encoding="utf-8")
    assert page.index("Points that a regrade changed") < page.index("the form costs 15") < page.index("Exercises")
    assert "of 30" not in page

    graded(course)
    assert (scores(course, "bob"), most(course)) == (FULL | {TORCH: 1.7}, before)
    assert (course / "verdicts" / LOG).read_bytes() == made
    assert len(list(Store(course))) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"points": {"silu_forward-torhc": 3}}, "no released notebook has 'silu_forward-torhc'; there are "),
        ({"points": {TORCH: -1}}, f"c.Grade.points: {TORCH} is -1; give a number from 0 on"),
        ({"aims": {"speed": 5}}, "c.Grade.aims: there is no 'speed'; there are plain, point, dtypes, layouts, edges"),
        ({"aims": {"point": "half"}}, "c.Grade.aims: point is 'half'; give a number from 0 on"),
        ({"aims": {"plain": 0}}, "plain is 0, and every exercise has plain values"),
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


def test_weights_that_are_left_out_stay():
    assert weights_of({"point": 50}) == dict(Points.WEIGHTS) | {"point": 50}
