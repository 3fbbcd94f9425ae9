"""How a notebook is written by nbgrader's step: as nbformat and nbconvert write it."""

import copy

import nbformat
import pytest
from graded_kernels.autograder.nbgrader.exporting import Exporter, written
from graded_kernels.course.build import ROOT
from nbconvert.exporters import NotebookExporter
from nbconvert.preprocessors import Preprocessor
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ODD = new_notebook(
    metadata={"empty": {}, "none": None, "lists": [[], [1, [2.5, True]], {}], "long": 10**20, "é\n": 1e-300},
    cells=[
        new_markdown_cell("", id="a"),
        new_markdown_cell('one\ntwo\r\n\u2028 "quoted" \\ \x00 \x7f 🂡\n', id="b"),
        new_code_cell(
            "x = 1\n\ny",
            id="c",
            execution_count=3,
            outputs=[
                new_output("stream", name="stdout", text="a\nb"),
                new_output("display_data", {"text/html": "<p>\n</p>", "application/json": {"b": [1], "a": "x\ny"}}),
                new_output("error", ename="E", evalue="v", traceback=["1\n2", "3"]),
            ],
        ),
    ],
)


class Shout(Preprocessor):
    def preprocess_cell(self, cell, resources, index):
        cell.source = cell.source.upper()
        return cell, resources


class Breaks(Preprocessor):
    def preprocess(self, nb, resources):
        nb.cells[0].cell_type = "none"
        return nb, resources


@pytest.mark.parametrize("path", sorted((ROOT / "course" / "source").glob("*/*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_written_as_nbformat_writes_it(path):
    notebook = nbformat.read(path, as_version=4)
    assert written(copy.deepcopy(notebook)) == f"{nbformat.writes(notebook)}\n"


def test_an_odd_notebook_is_written_as_nbformat_writes_it():
    assert written(copy.deepcopy(ODD)) == f"{nbformat.writes(ODD)}\n"


def test_a_pass_gives_what_nbconverts_own_gives():
    given = {"nbgrader": {"student": "a"}}
    ours, theirs = (
        exporter(preprocessors=[Shout(enabled=True)]).from_notebook_node(copy.deepcopy(ODD), given)
        for exporter in (Exporter, NotebookExporter)
    )
    assert ours[0].rstrip("\n") == theirs[0].rstrip("\n")
    assert '"X = 1' in ours[0]
    assert ours[1]["output_suffix"] == theirs[1]["output_suffix"] and ours[1]["nbgrader"] == theirs[1]["nbgrader"]


def test_what_the_steps_have_broken_is_not_written():
    with pytest.raises(nbformat.ValidationError):
        Exporter(preprocessors=[Shout(enabled=True), Breaks(enabled=True)]).from_notebook_node(copy.deepcopy(ODD))
