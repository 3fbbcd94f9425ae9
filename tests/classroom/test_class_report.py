"""``graded-kernels report``: what a class did, counted from its verdicts; a page that holds nothing a learner wrote."""

import csv
import re
from html import unescape
from pathlib import Path

import nbformat
import pytest
from classroom import copied, place
from graded_kernels.autograder import cli
from graded_kernels.autograder.classroom.class_findings import (
    FAILED,
    PASSED,
    UNREACHED,
    ExerciseFindings,
    Findings,
    Learner,
    LearnerCheck,
    findings,
    rows,
)
from graded_kernels.autograder.classroom.course import configured
from graded_kernels.autograder.classroom.nbgrader.export import WAITS
from graded_kernels.autograder.classroom.nbgrader.pages import REPORT
from graded_kernels.autograder.classroom.page import class_page
from graded_kernels.autograder.judge import Store, Verdict
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbgrader.api import Gradebook
from tampered import TORCH, WITNESS, WORDS

BUG = "this is what candle 0.4.1 computed"
CASES = ("ordinary values", "exact <zeros>", "tiny values")


def report(statuses: str, summary: str = "", fingerprint: str | None = None, stopped: str = "") -> dict:
    """statuses: a letter for each case."""
    kinds = {"p": "pass", "f": "fail", "e": "error", "n": "not-run"}
    cases = [
        {
            "name": name,
            "inputs": "" if kind == "n" else f"x: float32 ({number},)",
            "status": kinds[kind],
            "bonus": False,
        }
        for number, (name, kind) in enumerate(zip(CASES, statuses, strict=True))
    ]
    passed = set(statuses) == {"p"}
    score = statuses.count("p") / len(statuses)
    found = {"passed": passed, "score": score, "summary": summary, "fingerprint": fingerprint, "cases": cases}
    return found | {"stopped": stopped}


COMPILED = {
    "name": "compiles for a GPU",
    "inputs": "",
    "status": "pass",
    "bonus": False,
}  # in the report of an answer that passed
STUB = report("fnn", "nobody wrote it", stopped="stub")
CLASS = {
    "ada": report("ppp") | {"cases": [*report("ppp")["cases"], COMPILED]},
    "bob": report("pfp", fingerprint=BUG),
    "cleo": report("pfe", fingerprint=BUG),
    "dan": report("pen", "a<script>"),
    "eve": STUB,
}


@pytest.fixture(scope="module")
def course(made_course, tmp_path_factory):
    """Five graded learners, one whose notebook waits, one who handed in nothing."""
    made = copied(made_course, tmp_path_factory.mktemp("report"))
    store = Store(made)
    for student, found in CLASS.items():
        key = "shared" if found is CLASS["eve"] else student
        store.put(Verdict(key, TORCH, report=found, seconds=2.5))
        outputs = [new_output("display_data", {REPORT: found, "text/plain": ""})]
        record = {"verdict": key}
        metadata = {"graded_kernels": record, "nbgrader": {"grade_id": f"{TORCH}-check"}}
        cells = [new_code_cell("", metadata=metadata, outputs=outputs)]
        if student == "dan":
            left = {"graded_kernels": {"not_graded": True}, "nbgrader": {"grade_id": f"{WITNESS}-check"}}
            cells.append(new_code_cell("", metadata=left))
        graded = made / "autograded" / student / "tiny"
        graded.mkdir(parents=True)
        nbformat.write(new_notebook(cells=cells), graded / "tiny.ipynb")
    page = made / "feedback" / "bob" / "tiny" / "tiny.html"
    page.parent.mkdir(parents=True)
    page.touch()
    place(made, "fay").write_text("{}")
    with Gradebook(f"sqlite:///{made}/gradebook.db") as gradebook:
        for student in (*CLASS, "fay", "gil"):
            gradebook.add_student(student, last_name="<b>Lovelace</b>" if student == "ada" else "")
        for student, found in CLASS.items():
            gradebook.update_or_create_submission("tiny", student)
            points = (2 * found["score"], 2.0, None if student == "dan" else 1.0)
            for cell, given in zip((f"{TORCH}-check", f"{WITNESS}-check", WORDS), points, strict=True):
                grade = gradebook.find_grade(cell, "tiny", "tiny", student)
                grade.auto_score, grade.needs_manual_grade = given, given is None
        gradebook.db.commit()
    return made


@pytest.fixture(scope="module")
def written(course) -> dict[str, str]:
    assert cli.main(["report", "tiny", "--course", str(course)]) == 0
    return {path.name: path.read_text(encoding="utf-8-sig") for path in (course / "reports").iterdir()}


def text(page: str) -> str:
    return " ".join(unescape(re.sub(r"<(style|svg).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)).split())


def test_what_a_class_did_is_counted(course):
    courses = configured(course).coursedir
    found = findings(courses, "tiny", rows(courses))
    (answer,) = found.answers
    assert (answer.name, len(answer.checks), answer.passed, answer.untouched) == (TORCH, 5, 1, 1)
    assert answer.bugs == [(BUG, ["bob", "cleo"])]
    assert answer.seconds == 12.5
    counts = [[case.counts[kind] for kind in (PASSED, FAILED, UNREACHED)] for case in answer.cases]
    assert counts == [[4, 0, 0], [1, 3, 0], [2, 1, 1], [1, 0, 3]]  # the stub of eve says nothing about a case
    assert found.unchecked == (("dan", WITNESS),)
    assert {one.id: one.status for one in found.learners if one.status != "graded"} == {
        "dan": "waits for a person",
        "fay": "not graded yet",
        "gil": "never handed in",
    }


def test_the_page_says_it(written):
    seen = text(written["tiny.html"])
    assert "7 learners: " in seen
    assert "4 graded" in seen
    assert "1 never handed in" in seen
    assert "1 waits for a person" in seen
    assert "Checking took 12 s of processor time" in seen
    assert f"dan ({WITNESS})" in seen
    assert f"{TORCH} 2 of 5 {BUG} bob, cleo" in seen
    assert f"3 of 4 {TORCH} exact <zeros> x: float32 (1,)" in seen
    assert "tiny values 2 1 1" in seen
    assert "waits for a person, " in seen
    assert 'href="../feedback/bob/tiny/tiny.html"' in written["tiny.html"]
    page = written["tiny.html"]
    assert "print-color-adjust: exact" in page  # without it a browser prints no bar
    assert page.count("<svg") == 2
    assert page.count('<div class="wide" tabindex="0">') == page.count("<table") + 2


def test_distinctions_are_not_among_the_inputs_that_failed_most():
    """Most good answers fail them, and they would fill the table."""
    cases = [
        {"name": name, "inputs": "x", "status": "fail", "bonus": name == "the tail"} for name in (*CASES, "the tail")
    ]
    check = LearnerCheck(
        "ada", TORCH, {"stopped": "", "passed": False, "score": 0.0, "fingerprint": None, "cases": cases}, 0.0
    )
    page = text(class_page(Findings("tiny", (), (ExerciseFindings(TORCH, (check,)),), ()), Path()))
    most, _, every = page.partition("Inputs that failed most")[2].partition(" Cases ")
    assert [name in most for name in (*CASES, "the tail")] == [True, True, True, False]
    assert "the tail" in every


def test_it_holds_no_markup_but_its_own(written):
    for name in ("tiny.html", "course.html"):
        assert "<script" not in written[name]
        assert "<b>" not in written[name]
        assert "default-src 'none'" in written[name]
        assert not re.findall(r"(?:src|href)=.(?:https?:)?//", written[name])
    assert "<b>Lovelace</b>" in text(written["tiny.html"])


def test_a_course_has_a_page_of_students_by_assignments(written):
    seen = text(written["course.html"])
    never = "never handed in"
    page = written["course.html"]
    assert re.findall('href="([^"]*)"', page) == ["tiny.html"]
    assert page.count('<th class="number">') == 5
    assert seen.startswith(
        f"course Course student 01_silu both memory tiny together ada {never} {never} {never} 5 / 7 5 "
    )
    assert seen.endswith(f"gil {never} {never} {never} {never}")  # nothing is no 0


def test_the_numbers_are_in_a_table(written):
    found = list(csv.DictReader(written["tiny.csv"].splitlines()))
    assert [(row["case"], row["passed"], row["failed"], row["not reached"]) for row in found] == [
        (CASES[0], "4", "0", "0"),
        (CASES[1], "1", "3", "0"),
        (CASES[2], "2", "1", "1"),
        (COMPILED["name"], "1", "0", "3"),
    ]


def test_reports_are_their_owners_alone_and_an_unknown_assignment_is_named(course, written, capsys):
    assert (course / "reports").stat().st_mode & 0o777 == 0o700
    assert cli.main(["report", "tinny", "--course", str(course)]) == 2
    assert "no assignment tinny; there are" in capsys.readouterr().err


def test_an_account_that_is_kept_out_of_tables_is_on_no_page(course, tmp_path):
    own = copied(course, tmp_path)
    (own / "teacher_config.py").write_text("c.Grades.exclude = ['ada', 'gil']\n")
    assert cli.main(["report", "tiny", "--course", str(own)]) == 0
    pages = {path.name: text(path.read_text()) for path in (own / "reports").glob("*.html")}
    assert "5 learners: " in pages["tiny.html"]
    assert "bob" in pages["course.html"]
    assert [name for name, page in pages.items() if re.search(r"\b(ada|gil)\b", page)] == []


@pytest.mark.parametrize(("count", "sentence"), [(1, "1 learner: 1 waits for a"), (2, "2 learners: 2 wait for a")])
def test_one_waits_and_two_wait(count, sentence):
    learners = tuple(Learner(str(n), "", WAITS, None, None, 7.0, 0, {}) for n in range(count))
    assert sentence in text(class_page(Findings("tiny", learners, (), ()), Path()))
