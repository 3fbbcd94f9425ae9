"""A cell run in a kernel in which the notebook's first cell has not: a learner is told, not left with a NameError."""

import ast
import json
from pathlib import Path

import pytest
from graded_kernels.course.first_cell import ADVICE, NAMES
from notebook_kernel import SETUP, Notebook

import setup_venv

ROOT = Path(__file__).resolve().parent.parent
ANSWER = "@triton.jit\ndef kernel(x_ptr):\n    ..."


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """A kernel with the configuration that ``setup_venv.py`` writes into the environment."""
    setup_venv.configure_kernels(tmp_path)
    (tmp_path / "etc" / "ipython").rename(tmp_path / "profile_default")  # where IPython looks without an environment
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = Notebook()
    yield notebook
    notebook.close()


def test_an_answer_before_the_first_cell_is_told_to_run_it(notebook):
    said = notebook.said(ANSWER)
    assert "name 'triton' is not defined" in said and ADVICE in said
    assert ADVICE in notebook.said('check("axpy", axpy)')
    assert ADVICE not in notebook.said("nothing_of_the_chapters")
    assert ADVICE not in notebook.said("def plain(): return 1\nplain()")
    assert notebook.said(SETUP) == ""
    assert ADVICE not in notebook.said("wild")


def test_the_names_are_those_of_the_first_cells():
    defined = set()
    for path in sorted((ROOT / "course" / "source").glob("*/*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        setup = "".join(next(cell for cell in cells if cell["cell_type"] == "code")["source"])
        for node in ast.parse(setup).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                defined |= {alias.asname or alias.name for alias in node.names}
            else:
                defined |= {target.id for target in node.targets}
    assert defined == NAMES
