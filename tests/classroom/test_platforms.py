"""``graded-kernels export``: ``results.json`` as two platforms document it, and a page of written answers for paper."""

import json
from pathlib import Path

import jsonschema
import nbformat
import pytest
from classroom import copied
from graded_kernels.autograder import cli
from graded_kernels.autograder.classroom.course import configured
from graded_kernels.autograder.classroom.nbgrader.autograde import Autograde
from graded_kernels.autograder.classroom.nbgrader.guides import WithGuides
from graded_kernels.autograder.classroom.nbgrader.pages import REPORT
from graded_kernels.autograder.classroom.platforms import LONGEST
from graded_kernels.autograder.classroom.written import page as written_page
from nbconvert.exporters import NotebookExporter
from nbformat.v4 import new_markdown_cell, new_output
from nbgrader.api import Gradebook
from platform_schemas import GRADESCOPE, PRAIRIELEARN, PRAIRIELEARN_BYTES
from tampered import TORCH, WITNESS, WORDS, find

WAITS = "3 points wait for a person."


@pytest.fixture(scope="module")
def course(made_course, tmp_path_factory) -> Path:
    """Two learners: of one a written answer waits, of the other everything has its points; one handed in nothing."""
    made = copied(made_course, tmp_path_factory.mktemp("platforms"))
    released = made / "release" / "tiny" / "tiny.ipynb"
    with Gradebook(f"sqlite:///{made}/gradebook.db") as gradebook:
        for student in ("ada", "bob", "cid"):
            gradebook.add_student(student)
        for student, points in {"ada": (2.0, 1.0, None), "bob": (0.0, 1.5, 3.0)}.items():
            notebook = nbformat.read(released, as_version=4)
            text = "passed\n" + "x" * 2 * LONGEST if student == "ada" else "\x1b[31mwrong"
            find(notebook, f"{TORCH}-check").outputs = [new_output("display_data", {REPORT: {}, "text/plain": text})]
            question = find(notebook, WORDS)
            if student == "ada":
                question.source = "Since $x/0$ <script>alert(1)</script> is *infinite*."
                own = new_markdown_cell("And more.", metadata={"graded_kernels": {"added": True}})
                notebook.cells.insert(notebook.cells.index(question) + 1, own)
            folder = made / "autograded" / student / "tiny"
            folder.mkdir(parents=True)
            nbformat.write(notebook, folder / "tiny.ipynb")
            gradebook.update_or_create_submission("tiny", student)
            for cell, given in zip((f"{TORCH}-check", f"{WITNESS}-check", WORDS), points, strict=True):
                grade = gradebook.find_grade(cell, "tiny", "tiny", student)
                grade.auto_score, grade.needs_manual_grade = given, given is None
        gradebook.db.commit()
    return made


def export(course: Path, kind: str) -> Path:
    assert cli.main(["export", "tiny", kind, "--course", str(course)]) == 0
    return course / "reports" / f"tiny-{kind}"


@pytest.mark.parametrize(("kind", "schema"), [("gradescope", GRADESCOPE), ("prairielearn", PRAIRIELEARN)])
def test_results_are_what_the_platform_documents(course, kind, schema):
    files = sorted(export(course, kind).iterdir())
    assert [path.name for path in files] == ["ada.json", "bob.json"]
    for path in files:
        jsonschema.validate(json.loads(path.read_text()), schema)
        assert path.stat().st_size < PRAIRIELEARN_BYTES
        assert "\x1b" not in path.read_text()


def test_what_waits_for_a_person_counts_nothing_yet_and_is_named(course):
    ada, bob = (json.loads((export(course, "gradescope") / f"{who}.json").read_text()) for who in ("ada", "bob"))
    assert (ada["score"], ada["output"]) == (3.0, WAITS)
    assert (bob["score"], bob["output"]) == (4.5, "All of it is graded.")
    tests = {one["name"]: one for one in ada["tests"]}
    assert list(tests) == [WITNESS, TORCH, WORDS]
    assert (tests[TORCH]["score"], tests[TORCH]["max_score"]) == (2.0, 2.0)
    assert tests[TORCH]["output"].startswith("passed\nx")
    assert "score" not in tests[WORDS]
    share = json.loads((export(course, "prairielearn") / "ada.json").read_text())
    assert (share["score"], share["message"]) == (3 / 7, WAITS)
    assert {one["name"]: one.get("message") for one in share["tests"]} == {WITNESS: None, TORCH: None, WORDS: WAITS}


def test_written_answers_are_a_page_for_paper(course):
    export(course, "paper")
    page = (course / "reports" / "tiny-written.html").read_text()
    assert "<b>ada</b>" in page
    assert "<em>infinite</em>" in page
    assert "And more." in page
    assert "/ 3</span>" in page
    assert "Nothing written: bob" in page
    assert "<script>" not in page
    assert "In your own words:" in page  # what was asked


def test_a_marking_guide_stands_above_the_answers_once(course):
    source = nbformat.read(course / "source" / "tiny" / "tiny.ipynb", as_version=4)
    question = find(source, WORDS)
    question.source = question.source.replace("Whatever is right.", "**Marking guide**, as a chapter begins it.")
    nbformat.write(source, course / "source" / "tiny" / "tiny.ipynb")
    notebook = nbformat.read(course / "autograded" / "ada" / "tiny" / "tiny.ipynb", as_version=4)
    app = configured(course)
    run = Autograde(coursedir=app.coursedir, parent=app)
    add = WithGuides(parent=NotebookExporter(parent=run), config=app.config)
    notebook, _ = add.preprocess(notebook, {"nbgrader": {"assignment": "tiny", "notebook": "tiny"}})
    page = written_page("tiny", {"ada": [("tiny", notebook)], "eve": [("tiny", notebook)]})
    assert page.count("Marking guide") == 1
    assert page.index("Marking guide") < page.index("<b>ada</b>") < page.index("<b>eve</b>")


def test_an_answer_below_an_untouched_question_is_on_paper(course):
    below = new_markdown_cell("It overflows.", metadata={"graded_kernels": {"added": True}})
    notebook = nbformat.read(course / "autograded" / "bob" / "tiny" / "tiny.ipynb", as_version=4)
    notebook.cells.insert(notebook.cells.index(find(notebook, WORDS)) + 1, below)
    page = written_page("tiny", {"bob": [("tiny", notebook)]})
    assert "It overflows." in page
    assert "Nothing written" not in page


def test_where_nothing_is_graded_it_is_said(course, capsys):
    assert cli.main(["export", "both", "gradescope", "--course", str(course)]) == 2
    assert "nothing of both is graded yet; grade it first: graded-kernels grade both" in capsys.readouterr().err
