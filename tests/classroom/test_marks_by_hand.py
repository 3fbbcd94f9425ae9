"""``graded-kernels marks``: what people mark goes out as CSV and comes back, and no row of it is lost."""

import csv
import shutil

import pytest
from graded_kernels.autograder import cli
from graded_kernels.course.build import ROOT
from nbgrader.api import Gradebook

QUESTION, CHECKED = "tiny_words", "silu_forward-torch"
STUDENTS = ("ada", "bob", "cyd", "=dan")
RUBRIC = """question,line,points,comment
tiny/tiny_words,limit,1.5,The limit is right.
tiny/tiny_words,name,1,"It is named, too."
other/tiny_words,limit,0,Of another assignment.
"""


@pytest.fixture
def course(handed_in, tmp_path):
    """A copy of the course."""
    return shutil.copytree(handed_in, tmp_path / "course")


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    """A course of four students who have all handed in; a question waits, and a check has been graded."""
    tmp_path = tmp_path_factory.mktemp("handed_in")
    shutil.copy(ROOT / "course" / "nbgrader_config.py", tmp_path)
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db") as gradebook:
        gradebook.add_assignment("tiny")
        gradebook.add_notebook("tiny", "tiny")
        for name, most, kind in ((QUESTION, 3, "markdown"), (f"{CHECKED}-check", 2, "code")):
            gradebook.add_grade_cell(name, "tiny", "tiny", max_score=most, cell_type=kind)
            gradebook.add_solution_cell(name.removesuffix("-check"), "tiny", "tiny")
        for student in (*STUDENTS, "eve"):
            gradebook.add_student(student)
        for student in STUDENTS:
            gradebook.add_submission("tiny", student)
            gradebook.find_grade(QUESTION, "tiny", "tiny", student).needs_manual_grade = True
            checked = gradebook.find_grade(f"{CHECKED}-check", "tiny", "tiny", student)
            checked.auto_score, checked.needs_manual_grade = 2.0, False
        gradebook.db.commit()
    return tmp_path


def marks(course, *arguments) -> int:
    return cli.main(["marks", "tiny", *map(str, arguments), "--course", str(course)])


def file(course, *rows: str, name: str = "mine.csv"):
    path = course / name
    path.write_text("\n".join(["student,question,points,rubric,comment", *rows]), encoding="utf-8-sig")
    return path


def given(course, student: str, question: str = QUESTION) -> tuple[float | None, bool, str | None]:
    """The points by hand, whether they wait for a person, and the comment."""
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        grade = gradebook.find_grade(question, "tiny", "tiny", student)
        comment = gradebook.find_comment(question.removesuffix("-check"), "tiny", "tiny", student)
        return grade.manual_score, grade.needs_manual_grade, comment.manual_comment


def rows_of(path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))


def test_each_assistant_has_a_file_that_comes_back_as_it_was_filled_in(course, capsys):
    assert marks(course, "--for", "Ann,Ben") == 0
    files = [course / "reports" / f"tiny-marks-{name}.csv" for name in ("Ann", "Ben")]
    assert capsys.readouterr().out == "".join(f"{path}: 2 rows\n" for path in files)
    rows = [row for path in files for row in rows_of(path)]
    assert sorted(row["student"] for row in rows) == ["'=dan", "ada", "bob", "cyd"]
    assert {(row["question"], row["points"], row["of"]) for row in rows} == {(QUESTION, "", "3")}

    text = files[0].read_text(encoding="utf-8-sig").replace(f"{QUESTION},,3", f"{QUESTION},2.5,3")
    files[0].write_text(text.replace(",", ";").replace("2.5", "2,5"), encoding="utf-8-sig")  # a spreadsheet in German
    assert marks(course, "--read", *files) == 0
    done = capsys.readouterr().out
    marked = [row["student"].lstrip("'") for row in rows[:2]]
    assert done.startswith(f"{marked[0]}, {QUESTION}: points none -> 2.5\n")
    assert "2 rows read, 2 changes." in done
    assert [given(course, student)[:2] for student in marked] == [(2.5, False)] * 2
    assert given(course, rows[2]["student"]) == (None, True, None)
    assert marks(course, "--read", *files) == 0
    assert "2 rows read, 0 changes." in capsys.readouterr().out


def test_what_a_row_leaves_empty_stays_and_every_change_is_told(course, capsys):
    assert marks(course, "--read", file(course, f"ada,{QUESTION},1,,Half of it.", f"bob,{CHECKED},1.5,,")) == 0
    capsys.readouterr()
    assert given(course, "bob", f"{CHECKED}-check")[:2] == (1.5, False)
    assert marks(course, "--read", file(course, f"ada,{QUESTION},2,,", f"bob,{QUESTION},,,Not yet.")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"ada, {QUESTION}: points 1 -> 2", f"bob, {QUESTION}: comment 'Not yet.'"]
    assert given(course, "ada") == (2.0, False, "Half of it.")
    assert given(course, "bob") == (None, True, "Not yet.")
    assert marks(course) == 0
    written = {(row["student"], row["question"]): row for row in rows_of(course / "reports" / "tiny-marks.csv")}
    assert (written["ada", QUESTION]["points"], written["ada", QUESTION]["comment"]) == ("2", "Half of it.")
    assert written["bob", CHECKED]["points"] == "1.5"


def test_lines_of_a_rubric_give_points_and_comments(course, capsys):
    (course / "rubric.csv").write_text(RUBRIC)
    rows = [f"ada,{QUESTION},,limit name,", f"bob,{QUESTION},2,limit,See page 3.", f"cyd,{QUESTION},,limits,"]
    assert marks(course, "--read", file(course, *rows), "--skip-bad-rows") == 1
    error = capsys.readouterr().err
    assert f"mine.csv, line 4: the rubric has no line 'limits' for {QUESTION}; there are limit, name" in error
    assert given(course, "ada") == (2.5, False, "The limit is right.\nIt is named, too.")
    assert given(course, "bob") == (2.0, False, "The limit is right.\nSee page 3.")
    (course / "rubric.csv").write_text("question,line,points,comment\ntiny_words,limit,1,x")
    assert marks(course, "--read", file(course, *rows)) == 2
    assert "'tiny_words' names no assignment; write tiny/tiny_words" in capsys.readouterr().err


BAD = {
    f"aba,{QUESTION},1,,": "line 3: there is no student 'aba'; ada is meant?",
    f"eve,{QUESTION},1,,": "line 3: eve has nothing graded in tiny; take the row out",
    "bob,tiny_word,1,,": "line 3: tiny has no question 'tiny_word'; tiny_words is meant?",
    f"bob,{QUESTION},4,,": "line 3: 4 points, of at most 3; give 0 to 3",
    f"bob,{QUESTION},-1,,": "line 3: -1 points, of at most 3; give 0 to 3",
    f"bob,{QUESTION},good,,": "line 3: 'good' is no number of points; write 1.5, or leave the cell empty",
    f"bob,{QUESTION},nan,,": "line 3: 'nan' is no number of points",
    f",{QUESTION},1,,": "line 3: it names no student or no question",
    f"ada,{QUESTION},2,,": f"line 3: ada, {QUESTION} is marked otherwise in mine.csv, line 2; keep one",
}


@pytest.mark.parametrize("row", BAD)
def test_a_bad_row_changes_nothing_unless_it_is_to_be_skipped(course, capsys, row):
    path = file(course, f"ada,{QUESTION},1,,", row)
    assert marks(course, "--read", path) == 1
    error = capsys.readouterr().err
    assert f"mine.csv, {BAD[row]}" in error
    assert "Nothing was changed, because of 1 row." in error
    assert given(course, "ada")[0] is None
    assert marks(course, "--read", path, "--skip-bad-rows") == 1
    assert given(course, "ada")[0] == 1
    assert given(course, "bob")[0] is None


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            b"student,question\nada,tiny_words",
            "mine.csv has no column points, comment; its first line is student,question,",
        ),
        ("student,question,points,comment\nada,tiny_words,1,für".encode("latin-1"), "is not in UTF-8; save it from"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_is_none_is_refused_in_a_sentence(course, capsys, content, sentence):
    path = course / "mine.csv"
    if content is not None:
        path.write_bytes(content)
    assert marks(course, "--read", path) == 2
    assert sentence in capsys.readouterr().err
