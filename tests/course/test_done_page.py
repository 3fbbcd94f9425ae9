"""The page of what a learner has passed: from the reports saved in their notebooks, and from nothing else."""

import re
from xml.etree import ElementTree

import nbformat
import pytest
from graded_kernels.autograder import cli
from graded_kernels.autograder.judge import ReportData
from graded_kernels.course import build, learner, progress
from graded_kernels.course.desk.chapter_progress import Step
from graded_kernels.course.desk.done_page import read_done, row

SOURCES = learner.sources(build.ROOT)
CASES = [
    {"name": "ordinary values", "status": "pass", "bonus": False, "worst_ulp": 3.5, "margin": 0.31},
    {"name": "infinity", "status": "pass", "bonus": False, "worst_ulp": "inf", "margin": None},
    {"name": "the tail", "status": "pass", "bonus": True, "worst_ulp": 900.0, "margin": 0.9},
    {"name": "the whole range", "status": "fail", "bonus": True, "worst_ulp": 900.0, "margin": 2.0},
]
ROWS = [
    {"target": "sm_90", "registers": 32, "spills": 0},
    {"target": "sm_90", "registers": 255, "spills": 48},
    {"target": "gfx942", "registers": 400, "spills": 9},
]


def report(backend, passed=True):
    triton = {"traffic": {"ratio": 1.0, "allowed": 1.05}, "compile": {"targets": ROWS}} if backend == "triton" else {}
    found = {"exercise": "silu_forward", "backend": backend, "passed": passed, "score": float(passed), "cases": CASES}
    return found | {"traffic": None, "compile": None} | triton


@pytest.fixture
def folder(tmp_path):
    """A chapter with both answers to silu_forward passed, one of silu_backward tried, and the question written."""
    notebook = nbformat.reads(learner.release(build.ROOT / "course/source/01_silu/01_silu.ipynb"), as_version=4)
    saved = {
        "silu_forward-torch-check": report("torch"),
        "silu_forward-triton-check": report("triton"),
        "silu_backward-torch-check": report("torch", passed=False) | {"exercise": "silu_backward"},
    }
    for cell in notebook.cells:
        if data := saved.get(cell.metadata.get("nbgrader", {}).get("grade_id")):
            cell.outputs = [nbformat.v4.new_output("execute_result", {ReportData.MIME: data})]
    text = nbformat.writes(notebook).replace("YOUR ANSWER HERE", "Because epsilon moves the zero.")
    (tmp_path / "01_silu.ipynb").write_text(text)
    return tmp_path


def test_what_passed_is_on_the_page_with_what_its_report_says(folder):
    done = read_done(folder, SOURCES)
    assert str(done) == "2 functions passed, 1 of them in Triton; 2 distinctions; 1 written answer."
    rows = [line for line in done.markdown().splitlines() if line.startswith("| silu")]
    assert rows == [
        "| silu_forward | PyTorch | 31% | 3.5 ulp |  |  |  | 1 of 2 |",
        "| silu_forward | Triton | 31% | 3.5 ulp | 1.00 times | 255 | 48 bytes | 1 of 2 |",
    ]


def test_the_page_is_one_file_without_a_script(folder):
    page = read_done(folder, SOURCES).html()
    assert "<script" not in page
    assert not re.search(r"""(src|href)=['"]""", page)
    body = page[page.index("<body>") : page.index("</html>")]
    cells = [cell.text or "" for cell in ElementTree.fromstring(body).iter("td")]
    assert cells[8:] == ["silu_forward", "Triton", "31%", "3.5 ulp", "1.00 times", "255", "48 bytes", "1 of 2"]


def test_ulp_are_shown_where_they_are_the_measure():
    """Of a right rotation 2.4e+07 ulp were shown: where terms cancel, ulp of the result measure nothing."""
    step = Step("rotary_backward", "triton", "passed", False, 0, ())
    cancels = {"cases": [{"name": "ordinary values", "bonus": False, "worst_ulp": 2.4e7, "margin": 0.19}]}
    assert row(step, cancels)[2:4] == ("19%", "")


def test_before_anything_passed_the_page_says_so(tmp_path):
    done = read_done(tmp_path, SOURCES)
    assert str(done) == "0 functions passed, 0 of them in Triton; 0 distinctions; 0 written answers."
    assert "<table>" not in done.html()


@pytest.mark.parametrize(("options", "name"), [([], "done.html"), (["--markdown"], "done.md")])
def test_the_command_writes_it_beside_the_notebooks(folder, capsys, options, name):
    assert cli.main(["done", "--notebooks", str(folder), *options]) == 0
    assert capsys.readouterr().out.startswith(f"{folder / name}: 2 functions passed")
    assert "silu_forward" in (folder / name).read_text()


def test_in_a_notebook_it_is_written_and_linked(folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = progress.done()
    assert "href='done.html'" in done._repr_html_()
    assert "<td>48 bytes</td>" in (folder / "done.html").read_text()
